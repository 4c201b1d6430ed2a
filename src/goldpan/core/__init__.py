"""The base of all stages: settings, files, errors, secrets, progress, parallel work."""
