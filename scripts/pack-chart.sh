#!/usr/bin/env bash
# Packs the chart of a release, which names the release's own image, by its digest.
#
#   scripts/pack-chart.sh VERSION IMAGE DIGEST FOLDER   makes FOLDER/weir-VERSION.tgz
#
# The chart in the repository names an image on the machine itself, which is what whoever builds it has.
set -euo pipefail
version=$1 image=$2 digest=$3 folder=$4
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

[[ $digest =~ ^sha256:[0-9a-f]{64}$ ]] || { echo "not a digest: $digest" >&2; exit 1; }
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
cp -R "$root/charts/weir" "$copy/weir"
sed -e "s|^  repository: weir\$|  repository: $image|" -e "s|^  digest: ''\$|  digest: $digest|" \
  "$root/charts/weir/values.yaml" > "$copy/weir/values.yaml"
# Two lines, and no third: the values may have been written otherwise since.
[ "$(diff "$root/charts/weir/values.yaml" "$copy/weir/values.yaml" | grep -c '^>')" = 2 ] ||
  { echo 'image.repository and image.digest of the chart are not where they were' >&2; exit 1; }
helm package "$copy/weir" --version "$version" --app-version "$version" --destination "$folder"
