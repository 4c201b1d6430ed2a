#!/bin/sh
set -e
cd /testbed
git apply --whitespace=nowarn /solution/fix.patch
