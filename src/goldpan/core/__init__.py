"""What every stage stands on: settings, files, errors, secrets, progress, parallel work."""
