#!/bin/bash
# Runs a plan as a job of a Ray cluster, which goes on when this terminal is closed:
#
#   examples/ray/submit.sh http://HEAD:8265 /shared/plans/monthly.toml
#
# The plan and its workspace lie on a file system that all machines have under the same path, so
# nothing is uploaded. The job itself runs on the head, which holds the token: start its Ray with
# GOLDPAN_TOKEN_COMMAND="cat /run/secrets/github". Never hand a token to ray job submit, whose
# arguments and environment the dashboard shows.
#
# Needs ray[default]. Follow it with ray job logs --address ADDRESS --follow NAME.

set -euo pipefail

address=${1:?Give the address of the dashboard, such as http://head:8265}
plan=${2:?Give the path of a plan on the shared file system}
shift 2

exec ray job submit --address "$address" --no-wait \
  --submission-id "goldpan-$(basename "$plan" .toml)-$(date -u +%Y%m%dT%H%M%S)" \
  -- goldpan run "$plan" --engine ray --address auto --log-format json "$@"
