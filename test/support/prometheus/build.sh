#!/usr/bin/env bash
# Builds Prometheus and promtool from the Go module that go.mod pins, once per pin, outside the checkout, and prints their
# folder. Needs Go. Takes some minutes on two cores the first time; later calls return at once. Several calls at a time are
# safe: one builds, the others wait for it.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
module=github.com/prometheus/prometheus
version=$(sed -n "s|.*$module \(v[0-9.]*\).*|\1|p" "$here/go.mod" | head -1)
key=$( { uname -sm; cat "$here/go.mod" "$here/go.sum"; } | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c1-16)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/weir/prometheus/$key
mkdir -p "$folder"
if command -v flock >/dev/null; then exec 9>"$folder/.lock"; flock 9; fi

# Nothing from the caller's environment may change what is built. Targets are written down in the tests' configuration, so
# no service discovery of a cloud is built in.
export CGO_ENABLED=0 GOTOOLCHAIN=local GOWORK=off GOFLAGS='-mod=readonly -trimpath -buildvcs=false'
unset GOEXPERIMENT GOOS GOARCH GOAMD64
for program in prometheus promtool; do
  [ -x "$folder/$program" ] && continue
  command -v go >/dev/null || { echo 'Go is needed to build Prometheus and was not found' >&2; exit 1; }
  echo "building $program $version" >&2
  (cd "$here" && go build -tags remove_all_sd -ldflags "-s -w -X github.com/prometheus/common/version.Version=${version#v}" \
    -o "$folder/.$program.new" "$module/cmd/$program")
  mv -f "$folder/.$program.new" "$folder/$program"
done
echo "$folder"
