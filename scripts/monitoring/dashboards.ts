import { type Dashboard, failedOutcomes, lines, of, quantile, rate, stat } from './queries.ts';

const genAi = 'gen_ai_server';
const usage = 'gen_ai_client_inference_usage';

const overview: Dashboard = {
  uid: 'weir-overview',
  title: 'Weir: overview',
  description: 'Service health: requests, failures, added latency, and dependencies.',
  variables: [],
  rows: [
    {
      title: 'Requests',
      panels: [
        lines('Requests by outcome', 'Everything that has ended. `refused`: nothing was dispatched.', {
          unit: 'reqps',
          queries: [{ expr: `sum by (outcome) (${rate(of('weir_requests_total'))})`, legend: '{{outcome}}' }],
        }),
        lines('Failed share by model', 'Share of dispatched requests that the service or its engines failed.', {
          unit: 'percentunit',
          queries: [
            {
              expr: `sum by (model) (${rate(of('weir_requests_total', failedOutcomes))}) / sum by (model) (${rate(of('weir_requests_total', 'outcome!="refused"'))})`,
              legend: '{{model}}',
            },
          ],
        }),
        lines('Refused by code', 'Error codes that callers got before dispatch.', {
          unit: 'reqps',
          queries: [
            { expr: `sum by (code) (${rate(of('weir_requests_total', 'outcome="refused"'))})`, legend: '{{code}}' },
          ],
        }),
        lines('Refused by limit', 'Which limit refused: of callers, or of the service itself.', {
          unit: 'reqps',
          queries: [{ expr: `sum by (limit) (${rate(of('weir_limit_refusals_total'))})`, legend: '{{limit}}' }],
        }),
        stat('In flight', 'In-flight requests, settlement included.', {
          unit: 'short',
          queries: [{ expr: `sum(${of('weir_requests_in_flight')})`, legend: 'requests' }],
        }),
        stat('Models listed', 'Models of the catalog that callers see, of all.', {
          unit: 'short',
          queries: [
            { expr: `sum(min by (model) (${of('weir_model_listed')}))`, legend: 'listed' },
            { expr: `max(${of('weir_catalog_models')})`, legend: 'in the catalog' },
          ],
        }),
      ],
    },
    {
      title: 'Time',
      panels: [
        lines('Time to first token', 'Of completed requests, all models.', {
          unit: 's',
          queries: [
            { expr: quantile(0.5, of(`${genAi}_time_to_first_token_seconds_bucket`)), legend: 'half' },
            { expr: quantile(0.95, of(`${genAi}_time_to_first_token_seconds_bucket`)), legend: '19 in 20' },
          ],
        }),
        lines('Added latency', 'Latency of the service itself: before it calls an engine, and after the last word.', {
          unit: 's',
          queries: [
            { expr: quantile(0.5, of('weir_added_latency_seconds_bucket'), 'phase'), legend: 'half, {{phase}}' },
            { expr: quantile(0.99, of('weir_added_latency_seconds_bucket'), 'phase'), legend: '99 in 100, {{phase}}' },
          ],
        }),
        lines('Event loop delay', 'How long a ready thing waits. Above 0.3 s the service sheds load.', {
          unit: 's',
          queries: [{ expr: `max(${of('weir_event_loop_delay_seconds')})`, legend: 'slowest replica' }],
        }),
        lines('Delay by thread', 'How long a ready thing waits for each thread, on the slowest replica.', {
          unit: 's',
          queries: [{ expr: `max by (thread) (${of('weir_thread_delay_seconds')})`, legend: '{{thread}}' }],
        }),
        lines('Busy threads', 'Share of time in which each thread was at work; 1 is full.', {
          unit: 'percentunit',
          queries: [{ expr: `max by (thread) (${rate(of('weir_thread_busy_seconds_total'))})`, legend: '{{thread}}' }],
        }),
        lines('Memory by thread', 'Heap and buffers.', {
          unit: 'bytes',
          queries: [
            {
              expr: `max by (thread) (sum by (instance, thread) (${of('weir_thread_memory_bytes')}))`,
              legend: '{{thread}}',
            },
          ],
        }),
      ],
    },
    {
      title: 'Failover',
      panels: [
        lines('Failovers', 'Requests for which another attempt took over, by result.', {
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (phase, result) (${rate(of('weir_failovers_total'))})`,
              legend: '{{phase}}, {{result}}',
            },
          ],
        }),
        lines('Hedges', 'Second attempts while the first one is silent, and the winning ones.', {
          unit: 'reqps',
          queries: [
            {
              expr: `sum(${rate(of('weir_attempts_total', 'reason="hedge"'))})`,
              legend: 'started',
              needs: 'hedge',
            },
            { expr: `sum(${rate(of('weir_hedges_won_total'))})`, legend: 'won' },
          ],
        }),
        lines('Faults by backend', 'Failed calls of engines.', {
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (backend, fault) (${rate(of('weir_attempt_faults_total'))})`,
              legend: '{{backend}}: {{fault}}',
            },
          ],
        }),
      ],
    },
    {
      title: 'Dependencies',
      panels: [
        lines('Ledger: time of a commit', 'From the hand-over of rows until they are durable.', {
          unit: 's',
          queries: [
            {
              expr: quantile(0.99, of('weir_ledger_commit_duration_seconds_bucket'), 'into'),
              legend: '99 in 100, {{into}}',
            },
          ],
        }),
        lines('Journal', 'Bills that wait while the database is down, as a share of the maximum.', {
          unit: 'percentunit',
          queries: [
            { expr: `max(${of('weir_journal_bytes')} / ${of('weir_journal_limit_bytes')})`, legend: 'fullest replica' },
          ],
        }),
        stat('Database', '1: here, or away, or behind, on some replica.', {
          unit: 'short',
          queries: [{ expr: `max by (state) (${of('weir_ledger_database')})`, legend: '{{state}}' }],
        }),
        lines('Disk of the data folder', 'Share that is left.', {
          unit: 'percentunit',
          queries: [
            {
              expr: `min(${of('weir_data_disk_free_bytes')} / ${of('weir_data_disk_size_bytes')})`,
              legend: 'fullest replica',
            },
          ],
        }),
        stat('Limits shared', '1: limits hold over all replicas.', {
          unit: 'short',
          queries: [{ expr: `min(${of('weir_limits_shared')})`, legend: 'shared', needs: 'valkey' }],
        }),
        lines('Age of the catalog', 'How far behind the API server the catalog may be.', {
          unit: 's',
          queries: [
            { expr: `max(${of('weir_catalog_age_seconds')})`, legend: 'oldest', needs: 'cluster' },
            { expr: `time() - min(${of('weir_catalog_served_timestamp_seconds')})`, legend: 'since the last change' },
          ],
        }),
        lines('Envoy’s answers about endpoints', 'How long the oldest message is without one.', {
          unit: 's',
          queries: [{ expr: `max(${of('weir_xds_unanswered_seconds')})`, legend: 'oldest' }],
        }),
      ],
    },
  ],
};

const byModel = 'gen_ai_request_model=~"$model"';
const model: Dashboard = {
  uid: 'weir-model',
  title: 'Weir: one model',
  description: 'Results by model, and the routes that serve it.',
  variables: [{ label: 'model', metric: 'weir_model_listed' }],
  rows: [
    {
      title: 'Results for callers',
      panels: [
        lines('Requests by outcome', 'Of this model.', {
          unit: 'reqps',
          queries: [
            { expr: `sum by (outcome) (${rate(of('weir_requests_total', 'model=~"$model"'))})`, legend: '{{outcome}}' },
          ],
        }),
        lines('Time to first token', 'Of completed requests.', {
          unit: 's',
          queries: [0.5, 0.95, 0.99].map((share) => ({
            expr: quantile(share, of(`${genAi}_time_to_first_token_seconds_bucket`, byModel)),
            legend: `${share * 100} %`,
          })),
        }),
        lines('Time per output token', 'After the first, on average over an answer.', {
          unit: 's',
          queries: [0.5, 0.95].map((share) => ({
            expr: quantile(share, of(`${genAi}_time_per_output_token_seconds_bucket`, byModel)),
            legend: `${share * 100} %`,
          })),
        }),
        lines('Duration', 'Of completed requests, to the end of the answer.', {
          unit: 's',
          queries: [0.5, 0.95].map((share) => ({
            expr: quantile(share, of(`${genAi}_request_duration_seconds_bucket`, byModel, 'error_type=""')),
            legend: `${share * 100} %`,
          })),
        }),
        lines('Tokens', 'Billed, a second.', {
          unit: 'short',
          queries: ['input', 'output', 'cache_read_input', 'reasoning_output'].map((kind) => ({
            expr: `sum(${rate(of(`${usage}_${kind}_tokens_total`, byModel))})`,
            legend: kind.replaceAll('_', ' '),
          })),
        }),
        lines('Size of prompts', 'Billed tokens of a request.', {
          unit: 'short',
          queries: [0.5, 0.95].map((share) => ({
            expr: quantile(share, of('gen_ai_client_token_usage_bucket', byModel, 'gen_ai_token_type="input"')),
            legend: `${share * 100} %`,
          })),
        }),
      ],
    },
    {
      title: 'Its routes',
      panels: [
        lines('Calls by backend', 'By reason.', {
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (backend, reason) (${rate(of('weir_attempts_total', 'model=~"$model"'))})`,
              legend: '{{backend}}: {{reason}}',
            },
          ],
        }),
        lines('Faults by backend', 'Failed calls.', {
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (backend, fault) (${rate(of('weir_attempt_faults_total', 'model=~"$model"'))})`,
              legend: '{{backend}}: {{fault}}',
            },
          ],
        }),
        lines('Routes that serve', 'Replicas on which each route takes requests.', {
          unit: 'short',
          queries: [
            { expr: `sum by (backend) (${of('weir_route_serving', 'model=~"$model"')})`, legend: '{{backend}}' },
          ],
        }),
      ],
    },
  ],
};

const backend: Dashboard = {
  uid: 'weir-backend',
  title: 'Weir: one backend',
  description: 'One engine deployment: its endpoints, the calls of it, and what goes wrong there.',
  variables: [{ label: 'backend', metric: 'weir_endpoints' }],
  rows: [
    {
      title: 'The backend',
      panels: [
        lines('Endpoints', 'By state, in the replica with the smallest number.', {
          unit: 'short',
          queries: [{ expr: `min by (state) (${of('weir_endpoints', 'backend=~"$backend"')})`, legend: '{{state}}' }],
        }),
        lines('Calls by model', 'All of them, whatever came of them.', {
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (model) (${rate(of('weir_attempts_total', 'backend=~"$backend"'))})`,
              legend: '{{model}}',
            },
          ],
        }),
        lines('Failed share', 'Faults for each call.', {
          unit: 'percentunit',
          queries: [
            {
              expr: `sum(${rate(of('weir_attempt_faults_total', 'backend=~"$backend"'))}) / sum(${rate(of('weir_attempts_total', 'backend=~"$backend"'))})`,
              legend: 'failed',
            },
          ],
        }),
        lines('Faults', 'By kind.', {
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (fault) (${rate(of('weir_attempt_faults_total', 'backend=~"$backend"'))})`,
              legend: '{{fault}}',
            },
          ],
        }),
        lines('In-flight calls', 'As Envoy counts them; its clusters are named after the backend.', {
          unit: 'short',
          queries: [
            {
              expr: `sum by (envoy_cluster_name) (${of('envoy_cluster_upstream_rq_active', 'envoy_cluster_name=~"($backend)-.*"')})`,
              legend: '{{envoy_cluster_name}}',
            },
          ],
        }),
      ],
    },
  ],
};

const money: Dashboard = {
  uid: 'weir-money',
  title: 'Weir: money',
  description: 'Cost of requests. The ledger (`weir usage`) shows who paid, metrics do not.',
  variables: [],
  rows: [
    {
      title: 'Billed',
      panels: [
        lines('USD an hour by model', 'At the recent rate.', {
          unit: 'currencyUSD',
          queries: [{ expr: `sum by (model) (${rate(of('weir_cost_usd_total'))}) * 3600`, legend: '{{model}}' }],
        }),
        stat('USD in the period', 'That the dashboard shows.', {
          unit: 'currencyUSD',
          queries: [{ expr: `sum(increase(${of('weir_cost_usd_total')}[$__range]))`, legend: 'billed' }],
        }),
        lines('Tokens by kind', 'Billed, a second; cached and reasoning tokens are parts of the others.', {
          unit: 'short',
          queries: ['input', 'output', 'cache_read_input', 'reasoning_output'].map((kind) => ({
            expr: `sum(${rate(of(`${usage}_${kind}_tokens_total`))})`,
            legend: kind.replaceAll('_', ' '),
          })),
        }),
        lines('Cached share of prompts', 'Tokens that engines had in their caches.', {
          unit: 'percentunit',
          queries: [
            {
              expr: `sum by (gen_ai_request_model) (${rate(of(`${usage}_cache_read_input_tokens_total`))}) / sum by (gen_ai_request_model) (${rate(of(`${usage}_input_tokens_total`))})`,
              legend: '{{gen_ai_request_model}}',
            },
          ],
        }),
        lines('Refused for money', 'A balance or a budget was used up.', {
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (limit) (${rate(of('weir_limit_refusals_total', 'limit=~"balance|budget"'))})`,
              legend: '{{limit}}',
            },
          ],
        }),
        lines('Rows of the ledger', 'That became durable, a second.', {
          unit: 'short',
          queries: [{ expr: `sum by (into) (${rate(of('weir_ledger_rows_total'))})`, legend: '{{into}}' }],
        }),
        lines('Answers whose engine counted wrong', 'The service counted in its place.', {
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (backend) (${rate(of('weir_implausible_usage_total'))})`,
              legend: '{{backend}}',
              needs: 'search',
            },
          ],
        }),
      ],
    },
  ],
};

const edge = 'envoy_http_conn_manager_prefix="edge"';
const envoy: Dashboard = {
  uid: 'weir-envoy',
  title: 'Weir: Envoy',
  description: 'The edge, the connections and the memory of Envoy.',
  variables: [],
  rows: [
    {
      title: 'The edge',
      panels: [
        lines('Answers by class', 'As callers got them.', {
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (envoy_response_code_class) (${rate(of('envoy_http_downstream_rq_xx', edge))})`,
              legend: '{{envoy_response_code_class}}xx',
            },
          ],
        }),
        lines('Connections', 'Of callers.', {
          unit: 'short',
          queries: [{ expr: `sum(${of('envoy_http_downstream_cx_active', edge)})`, legend: 'open' }],
        }),
        lines(
          'Connections closed',
          'At once, beyond what one address may have; and idle ones without a known caller.',
          {
            unit: 'short',
            queries: [
              { expr: `sum(${rate(of('weir_connections_refused'))})`, legend: 'refused' },
              { expr: `sum(${rate(of('weir_connections_closed_idle'))})`, legend: 'idle' },
            ],
          },
        ),
        stat('Days until a certificate expires', 'The first one of all that Envoy uses.', {
          unit: 'short',
          queries: [{ expr: `min(${of('envoy_server_days_until_first_cert_expiring')})`, legend: 'days' }],
        }),
        lines('Memory', 'That Envoy has allocated.', {
          unit: 'bytes',
          queries: [{ expr: `sum by (instance) (${of('envoy_server_memory_allocated')})`, legend: '{{instance}}' }],
        }),
        lines('Let through to the service', 'Share of new requests; below 1 Envoy sheds load.', {
          unit: 'percentunit',
          queries: [{ expr: `min(${of('weir_edge_admitted_ratio')})`, legend: 'share' }],
        }),
        stat('Live', '1: Envoy takes requests.', {
          unit: 'short',
          queries: [{ expr: `min(${of('envoy_server_live')})`, legend: 'live' }],
        }),
      ],
    },
  ],
};

export const dashboards: readonly Dashboard[] = [overview, model, backend, money, envoy];
