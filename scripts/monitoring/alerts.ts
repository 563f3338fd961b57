import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { thresholds } from '../../src/control/problems/service-problems.ts';
import { failedOutcomes } from './queries.ts';

export interface Alert {
  readonly name: string;
  /** With the word `THRESHOLD` in place of the figure that an operator may change. */
  readonly expr: string;
  readonly threshold?: number;
  /** How long it has to be so. */
  readonly for: string;
  /** `page`: somebody gets up. `ticket`: somebody looks at it in working hours. */
  readonly severity: 'page' | 'ticket';
  readonly summary: string;
}

/** What of its requests a model may fail: one in 200. */
const errorBudget = 0.005;
const windows = ['5m', '30m', '1h', '6h'] as const;
type Window = (typeof windows)[number];
const ratioOver = (window: Window): string => `weir:failed_requests:ratio_rate${window}`;

/** The share of a model's dispatched requests that the service or its engines failed, for each window of the alerts. */
export const recordings = windows.map((window) => ({
  record: ratioOver(window),
  expr: `sum by (namespace, model) (rate(weir_requests_total{${failedOutcomes}}[${window}])) / sum by (namespace, model) (rate(weir_requests_total{outcome!="refused"}[${window}]))`,
}));

/** At this rate the budget of 30 days is spent `rate` times as fast: https://sre.google/workbook/alerting-on-slos/ */
const burning = (rate: number, short: Window, long: Window): Pick<Alert, 'expr' | 'threshold'> => ({
  expr: `${ratioOver(short)} > THRESHOLD and ${ratioOver(long)} > THRESHOLD`,
  threshold: Number((rate * errorBudget).toFixed(4)),
});

/** Alerts on symptoms, each with its section in docs/operate/runbooks.md. */
export const alerts: readonly Alert[] = [
  {
    name: 'WeirErrorBudgetBurnFast',
    ...burning(14.4, '5m', '1h'),
    ...{ for: '2m', severity: 'page' },
    summary:
      '{{ $labels.model }} fails {{ $value | humanizePercentage }} of its requests. At this rate, the month’s error budget lasts two days.',
  },
  {
    name: 'WeirErrorBudgetBurnSlow',
    ...burning(6, '30m', '6h'),
    ...{ for: '15m', severity: 'ticket' },
    summary:
      '{{ $labels.model }} fails {{ $value | humanizePercentage }} of its requests. At this rate, the month’s error budget lasts five days.',
  },
  {
    name: 'WeirNoRoute',
    expr: 'max by (namespace, model) (weir_route_serving) == 0',
    ...{ for: '1m', severity: 'page' },
    summary: 'No route of {{ $labels.model }} takes requests on any replica.',
  },
  {
    name: 'WeirBackendWithoutEndpoint',
    expr: 'max by (namespace, backend) (weir_endpoints{state="healthy"}) == 0',
    ...{ for: '2m', severity: 'ticket' },
    summary: 'No endpoint of the backend {{ $labels.backend }} takes requests.',
  },
  {
    name: 'WeirBackendFailing',
    expr: 'max by (namespace, object) (weir_problem{kind="backend-failing"}) == 1',
    ...{ for: '10m', severity: 'ticket' },
    summary: 'At least 10 % of the attempts on {{ $labels.object }} fail; other routes may serve instead.',
  },
  {
    name: 'WeirObjectRefused',
    expr: 'max by (namespace) (weir_problems{kind="object-refused"}) > 0',
    ...{ for: '5m', severity: 'ticket' },
    summary: '{{ $value }} objects of the catalog are refused: Models, Backends or manifests.',
  },
  {
    name: 'WeirAway',
    // A service that was scraped within a day, so that other programs of the same job do not count.
    expr: 'up == 0 and on (namespace, job, instance) last_over_time(weir_build_info[1d]) or absent(weir_build_info)',
    ...{ for: '2m', severity: 'page' },
    summary:
      '{{ with $labels.instance }}Prometheus cannot scrape the service {{ . }}.{{ else }}Prometheus scrapes no Weir service.{{ end }}',
  },
  {
    name: 'WeirOverloaded',
    expr: 'sum by (namespace) (rate(weir_limit_refusals_total{limit=~"queue|event-loop|memory|open-files|open-requests"}[5m])) > 0 or min by (namespace) (weir_edge_admitted_ratio) < 1',
    ...{ for: '5m', severity: 'page' },
    summary: 'The service is overloaded and refuses requests.',
  },
  {
    name: 'WeirLedgerAway',
    expr: 'max by (namespace) (weir_ledger_database{state="away"}) == 1',
    ...{ for: '1m', severity: 'page' },
    summary: 'The database stores no bills; they wait in the journal.',
  },
  {
    name: 'WeirJournalFilling',
    expr: `max by (namespace) (weir_journal_bytes / weir_journal_limit_bytes) > THRESHOLD or min by (namespace) (weir_journal_has_room) == 0`,
    threshold: thresholds.journal.begin,
    ...{ for: '1m', severity: 'page' },
    summary: 'The journal is {{ $value | humanizePercentage }} full. Above 80 %, Weir refuses new requests.',
  },
  {
    name: 'WeirLedgerSlow',
    expr: 'histogram_quantile(0.99, sum by (namespace, le) (rate(weir_ledger_commit_duration_seconds_bucket{into="database"}[5m]))) > THRESHOLD',
    threshold: 1,
    ...{ for: '10m', severity: 'ticket' },
    summary:
      'One ledger commit in a hundred takes {{ $value | humanizeDuration }}, and answers wait for their commits.',
  },
  {
    name: 'WeirLedgerDamaged',
    expr: 'max by (namespace) (weir_ledger_damaged) == 1',
    ...{ for: '0s', severity: 'page' },
    summary: 'The database file weir.db is damaged.',
  },
  {
    name: 'WeirRetentionStuck',
    expr: 'max by (namespace) (increase(weir_ledger_upkeep_failures_total[1h])) > THRESHOLD',
    threshold: 5,
    ...{ for: '0s', severity: 'ticket' },
    summary: 'Ledger maintenance fails repeatedly, so Weir does not delete old requests.',
  },
  {
    name: 'WeirLimitsNotShared',
    expr: 'min by (namespace) (weir_limits_shared) == 0',
    ...{ for: '1m', severity: 'ticket' },
    summary: 'Valkey does not answer, so each replica applies its share of the limits.',
  },
  {
    name: 'WeirCatalogOld',
    expr: 'max by (namespace) (weir_catalog_age_seconds) > THRESHOLD',
    threshold: 300,
    ...{ for: '0s', severity: 'ticket' },
    summary: 'The catalog watch has been out of sync for {{ $value | humanizeDuration }}.',
  },
  {
    name: 'WeirNoLeader',
    expr: 'max by (namespace) (weir_controller_leader) == 0',
    ...{ for: '2m', severity: 'ticket' },
    summary: 'No replica is the leader, so none writes object status.',
  },
  {
    name: 'WeirEnvoyDoesNotFollow',
    expr: 'max by (namespace) (weir_xds_unanswered_seconds) > THRESHOLD or max by (namespace) (increase(weir_xds_refusals_total[10m])) > 0',
    threshold: 30,
    ...{ for: '1m', severity: 'ticket' },
    summary: 'Envoy refuses new endpoints, or does not acknowledge them.',
  },
  {
    name: 'WeirCertificateExpires',
    expr: `min by (namespace) (envoy_server_days_until_first_cert_expiring) < THRESHOLD`,
    threshold: thresholds.certificateDays,
    ...{ for: '1m', severity: 'ticket' },
    summary: 'A certificate in Envoy expires in {{ $value }} days.',
  },
  {
    name: 'WeirCertificateEnds',
    // Envoy reports 0 for a certificate that has expired.
    expr: `min by (namespace) (envoy_server_days_until_first_cert_expiring) < THRESHOLD`,
    threshold: 3,
    ...{ for: '1m', severity: 'page' },
    summary: 'A certificate in Envoy expires in {{ $value }} days; 0: it expires today, or has expired.',
  },
  {
    name: 'WeirDiskFilling',
    expr: `min by (namespace, instance) (weir_data_disk_free_bytes / weir_data_disk_size_bytes) < THRESHOLD`,
    threshold: thresholds.diskLeft.begin,
    ...{ for: '5m', severity: 'ticket' },
    summary: '{{ $value | humanizePercentage }} of the data folder’s disk is free on {{ $labels.instance }}.',
  },
  {
    name: 'WeirFilesFilling',
    expr: 'max by (namespace, instance) (weir_open_files_ratio) > THRESHOLD',
    threshold: thresholds.openFiles.begin,
    ...{ for: '1m', severity: 'page' },
    summary: '{{ $labels.instance }} uses {{ $value | humanizePercentage }} of its open files limit.',
  },
  {
    name: 'WeirLogLost',
    expr: 'sum by (namespace, instance) (increase(weir_log_dropped_records_total[10m])) > 0',
    ...{ for: '0s', severity: 'ticket' },
    summary: '{{ $labels.instance }} lost log records, because it could not write them.',
  },
  {
    name: 'WeirEventsLate',
    expr: 'max by (namespace, subscription) (weir_events_lag_seconds) > THRESHOLD',
    threshold: thresholds.lagMs / 1000,
    ...{ for: '20m', severity: 'ticket' },
    summary: 'The receiver of {{ $labels.subscription }} is {{ $value | humanizeDuration }} behind.',
  },
  {
    name: 'WeirBudgetNearlySpent',
    expr: 'max by (namespace, workspace, key) (weir_key_budget_used_ratio) > THRESHOLD',
    threshold: 0.8,
    ...{ for: '5m', severity: 'ticket' },
    summary: '{{ $labels.key }} of {{ $labels.workspace }} has spent {{ $value | humanizePercentage }} of its budget.',
  },
  {
    name: 'WeirBalanceRunsOut',
    expr: 'min by (namespace, workspace) (weir_workspace_available_usd{workspace!=""} / (weir_workspace_spend_usd_per_day{workspace!=""} > 0)) < THRESHOLD',
    threshold: 2,
    ...{ for: '15m', severity: 'ticket' },
    summary: 'At the current rate, {{ $labels.workspace }} uses up its balance in {{ $value | humanize }} days.',
  },
  {
    name: 'WeirEngineCountsWrong',
    expr: 'sum by (namespace, backend) (increase(weir_implausible_usage_total[1h])) > 0',
    ...{ for: '0s', severity: 'ticket' },
    summary: 'The engine of {{ $labels.backend }} reports impossible token counts.',
  },
];

/** The expression of an alert with its figure. */
export function exprOf({ expr, threshold }: Pick<Alert, 'expr' | 'threshold'>): string {
  return expr.replaceAll('THRESHOLD', String(threshold));
}

const runbooks = join(import.meta.dirname, '../../docs/operate/runbooks.md');

/** What an alert means, from its section of the runbooks, as plain text. */
function descriptionOf(name: string): string {
  const [, means = ''] =
    new RegExp(`^## ${name}\n\n- \\*\\*Means\\*\\* \\(\\w+\\): ([^]*?)\n- `, 'm').exec(
      readFileSync(runbooks, 'utf8'),
    ) ?? [];
  const text = means
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replaceAll(/<!--=.*?-->/g, '');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

const annotationsOf = ({ name, summary }: Alert): object => ({
  ...{ summary, description: descriptionOf(name) },
  runbook_url: `docs/operate/runbooks.md#${name.toLowerCase()}`,
});

/** The groups of a rules file of Prometheus, with these alerts. */
export function ruleGroups(ruled: readonly Alert[] = alerts): object {
  return {
    groups: [
      { name: 'weir-recordings', rules: recordings },
      {
        name: 'weir-alerts',
        rules: ruled.map((alert) => ({
          ...{ alert: alert.name, expr: exprOf(alert), for: alert.for, labels: { severity: alert.severity } },
          annotations: annotationsOf(alert),
        })),
      },
    ],
  };
}

/** The same for the chart, which puts an operator's figures in, and wraps the rules into a PrometheusRule. */
export function chartRules(): object {
  return {
    recordings,
    alerts: alerts.map(({ name, summary, ...alert }) => ({
      ...{ alert: name, ...alert, summary, description: descriptionOf(name) },
    })),
  };
}
