#!/bin/sh
# What a stranger does first with an installed surgvalid[fast], away from the repository: the demo, and a study of a table.
set -eu
SURGVALID=$(realpath "$1")
FOLDER=$(mktemp -d)
trap 'rm -r "$FOLDER"' EXIT
cd "$FOLDER"
"$SURGVALID" --version
"$SURGVALID" demo --quick --out demo --force
{
  echo "model,video,case,score"
  for video in 1 2 3 4 5 6 7 8; do
    for case in 1 2 3; do
      echo "A,v$video,v$video-$case,0.8$(((video + case) % 10))"
      echo "B,v$video,v$video-$case,0.7$(((3 * video + case) % 10))"
    done
  done
} > scores.csv
"$SURGVALID" study scores.csv --better larger --out study
test -s study/manifest.json
