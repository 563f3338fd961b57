#!/usr/bin/env bash
# Builds the Kubernetes programs that the tests use from pinned Go modules, once per set of pins, outside the checkout.
#
#   build.sh TOOL...   builds those that are missing, then prints the folder that holds them
#   build.sh --where   only prints that folder, whatever is in it
#
# TOOL is any of: kube-apiserver etcd kubectl helm kubeconform kube-controller-manager. Needs Go (1.26 or newer). The
# first five take about six minutes and 250 MB on two cores; later calls return at once. Several calls at a time are
# safe: one builds, the others wait for it. Versions stand in pins/*/go.mod and are checked against the go.sum there.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
pins=$here/pins
say() { echo "kubernetes tools: $*" >&2; }

# The key covers the machine and the pins. How a program was built is kept beside it, so that one changed flag or a
# newer Go costs one program and not all.
key=$( { uname -sm; cat "$pins"/*/go.mod "$pins"/*/go.sum; } | { sha256sum 2>/dev/null || shasum -a 256; } | cut -c1-16)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/weir/kube/$key
if [ "${1:-}" = --where ]; then echo "$folder"; exit 0; fi
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
command -v go >/dev/null || { say 'Go is needed to build them and was not found'; exit 1; }
mkdir -p "$folder"

# Nothing from the caller's environment may change what is built.
export CGO_ENABLED=0 GOTOOLCHAIN=local GOWORK=off GOFLAGS='-mod=readonly -trimpath -buildvcs=false'
unset GOEXPERIMENT GOOS GOARCH GOAMD64

# The system releases the lock when the holder dies. Without flock (macOS) two builds at a time only waste time: each
# program is moved into place in one step.
if command -v flock >/dev/null; then
  exec 9>"$folder/.lock"
  flock -n 9 || { say 'another process is building; waiting for it'; flock 9; }
fi

pinned() { # MODULE_DIR MODULE -> version in its go.mod
  awk -v m="$2" '$1 == "require" { $1 = ""; $0 = $0 } $1 == m && $2 ~ /^v/ { print $2; exit }' "$pins/$1/go.mod"
}

kube=$(pinned apiserver k8s.io/kubernetes)
helm=$(pinned helm helm.sh/helm/v3)
lint=$(pinned lint github.com/yannh/kubeconform)
minor=${kube#v1.}; minor=${minor%%.*}

# A plain `go build` leaves placeholders: the API server would say v0.0.0-master and `helm template` assume 1.20.
kube_x=
for p in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
  kube_x+=" -X $p.gitVersion=$kube -X $p.gitMajor=1 -X $p.gitMinor=$minor -X $p.gitCommit=unknown -X $p.gitTreeState=clean"
done
helm_x="-X helm.sh/helm/v3/internal/version.version=$helm"
for p in pkg/chartutil pkg/lint/rules; do
  helm_x+=" -X helm.sh/helm/v3/$p.k8sVersionMajor=1 -X helm.sh/helm/v3/$p.k8sVersionMinor=$minor"
done

build() { # NAME MODULE_DIR PACKAGE LDFLAGS
  local want
  want=$( { go version; cat "$pins/$2/go.mod" "$pins/$2/go.sum"; echo "$3 $4"; } |
    { sha256sum 2>/dev/null || shasum -a 256; } | cut -d' ' -f1)
  [ -x "$folder/$1" ] && [ "$(cat "$folder/.$1.pin" 2>/dev/null)" = "$want" ] && return
  local start=$SECONDS
  say "building $1"
  (cd "$pins/$2" && go build -ldflags "-s -w $4" -o "$folder/.$1.new" "$3") ||
    { say "$1 could not be built"; exit 1; }
  rm -f "$folder/.$1.pin"
  mv -f "$folder/.$1.new" "$folder/$1"
  echo "$want" > "$folder/.$1.pin"
  say "built $1 in $((SECONDS - start)) s"
}

for tool; do
  case $tool in
    kube-apiserver | kubectl | kube-controller-manager) build "$tool" apiserver "k8s.io/kubernetes/cmd/$tool" "$kube_x" ;;
    etcd) build etcd apiserver go.etcd.io/etcd/server/v3 "" ;;
    helm) build helm helm helm.sh/helm/v3/cmd/helm "$helm_x" ;;
    kubeconform) build kubeconform lint github.com/yannh/kubeconform/cmd/kubeconform "-X main.version=$lint" ;;
    *) say "unknown tool: $tool"; exit 2 ;;
  esac
done
echo "$folder"
