#!/usr/bin/env bash
# Starts Prometheus and Alertmanager from PATH for a Weir on this machine. Ctrl-C ends both.
#
#   apt-get install prometheus prometheus-alertmanager   # or put both on PATH
#   WEIR_ENVOY_OPS_PORT=9192 npm start                   # in another terminal
#   examples/monitoring/run.sh [FOLDER]                  # FOLDER keeps the data; default: a new one
#
# Grafana, where there is one: copy grafana-*.yaml into its provisioning folders (README.md).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
data=${1:-$(mktemp -d)}
alertmanager=$(command -v prometheus-alertmanager || command -v alertmanager) ||
  { echo 'alertmanager is not on PATH: apt-get install prometheus-alertmanager' >&2; exit 1; }
command -v prometheus > /dev/null || { echo 'prometheus is not on PATH: apt-get install prometheus' >&2; exit 1; }
trap 'kill 0' EXIT
"$alertmanager" --config.file=alertmanager.yml --storage.path="$data/alertmanager" \
  --web.listen-address=127.0.0.1:9093 --cluster.listen-address= &
prometheus --config.file=prometheus.yml --storage.tsdb.path="$data/prometheus" --web.listen-address=127.0.0.1:9094 &
echo "Prometheus: http://127.0.0.1:9094   Alertmanager: http://127.0.0.1:9093   data: $data"
wait -n
