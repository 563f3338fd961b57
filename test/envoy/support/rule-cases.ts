/** For each alert: figures that bring it about and take it away again, by the minute, and when it has to fire and when not. */
export interface RuleCase {
  /** Values in promtool's words: `0+1x5` is 0 and five steps of 1. */
  readonly series: Readonly<Record<string, string>>;
  /** Minutes. */
  readonly fires: number;
  readonly quiet: readonly number[];
}

/** Well for 5 minutes, ill for 20, well for 20. */
const gauge = (series: string, well: number, ill: number): RuleCase => ({
  series: { [series]: `${well}+0x4 ${ill}+0x19 ${well}+0x19` },
  fires: 22,
  quiet: [4, 40],
});
/** Still for 10 minutes, growing for 10, still for two hours. */
const counter = (series: string): RuleCase => ({
  series: { [series]: '0+0x9 1+1x9 10+0x120' },
  fires: 19,
  quiet: [9, 120],
});

export const ruleCases: Readonly<Record<string, RuleCase>> = {
  WeirErrorBudgetBurnFast: {
    series: {
      'weir_requests_total{model="a/a", outcome="failed"}': '0+0x9 0+10x90 900+0x60',
      'weir_requests_total{model="a/a", outcome="completed"}': '0+90x160',
      'weir_requests_total{model="b/b", outcome="completed"}': '0+90x160',
    },
    fires: 80,
    quiet: [9, 140],
  },
  WeirErrorBudgetBurnSlow: {
    series: {
      'weir_requests_total{model="a/a", outcome="interrupted"}': '0+5x480 2400+0x120',
      'weir_requests_total{model="a/a", outcome="completed"}': '0+95x600',
    },
    fires: 470,
    quiet: [0, 560],
  },
  WeirNoRoute: gauge('weir_route_serving{model="a/a", backend="a"}', 1, 0),
  WeirBackendWithoutEndpoint: gauge('weir_endpoints{backend="a", state="healthy"}', 3, 0),
  WeirBackendFailing: {
    series: { 'weir_problem{object="Backend/a", kind="backend-failing"}': '_x5 1+0x19 _x20' },
    fires: 20,
    quiet: [4, 10, 40],
  },
  WeirObjectRefused: gauge('weir_problems{kind="object-refused"}', 0, 2),
  // One of three replicas, beside another program that was never one.
  WeirAway: {
    series: {
      'up{job="weir", instance="a"}': '1+0x60',
      'up{job="weir", instance="b"}': '1+0x4 0+0x19 1+0x19',
      'up{job="weir", instance="other"}': '0+0x60',
      'weir_build_info{job="weir", instance="a"}': '1+0x60',
      'weir_build_info{job="weir", instance="b"}': '1+0x4 _x20 1+0x19',
    },
    fires: 20,
    quiet: [4, 40],
  },
  WeirOverloaded: counter('weir_limit_refusals_total{limit="queue"}'),
  WeirLedgerAway: gauge('weir_ledger_database{state="away"}', 0, 1),
  WeirJournalFilling: {
    series: { weir_journal_bytes: '0+0x4 50+0x19 0+0x19', weir_journal_limit_bytes: '100+0x60' },
    fires: 22,
    quiet: [4, 40],
  },
  WeirLedgerSlow: {
    series: {
      'weir_ledger_commit_duration_seconds_bucket{into="database", le="1"}': '0+9x60',
      'weir_ledger_commit_duration_seconds_bucket{into="database", le="10"}': '0+9x9 91+10x19 281+9x40',
      'weir_ledger_commit_duration_seconds_bucket{into="database", le="+Inf"}': '0+9x9 91+10x19 281+9x40',
    },
    fires: 27,
    quiet: [9, 50],
  },
  WeirLedgerDamaged: gauge('weir_ledger_damaged', 0, 1),
  WeirRetentionStuck: counter('weir_ledger_upkeep_failures_total'),
  WeirLimitsNotShared: gauge('weir_limits_shared', 1, 0),
  WeirCatalogOld: gauge('weir_catalog_age_seconds', 0, 400),
  WeirNoLeader: gauge('weir_controller_leader', 1, 0),
  WeirEnvoyDoesNotFollow: gauge('weir_xds_unanswered_seconds', 0, 45),
  WeirCertificateExpires: gauge('envoy_server_days_until_first_cert_expiring', 80, 5),
  WeirCertificateEnds: gauge('envoy_server_days_until_first_cert_expiring', 5, 0),
  WeirDiskFilling: {
    series: { weir_data_disk_free_bytes: '50+0x4 5+0x19 50+0x19', weir_data_disk_size_bytes: '100+0x60' },
    fires: 22,
    quiet: [4, 40],
  },
  WeirFilesFilling: gauge('weir_open_files_ratio', 0.1, 0.75),
  WeirLogLost: counter('weir_log_dropped_records_total'),
  WeirEventsLate: {
    series: { 'weir_events_lag_seconds{subscription="events"}': '0+0x4 60+60x49 0+0x19' },
    fires: 40,
    quiet: [30, 65],
  },
  WeirBudgetNearlySpent: gauge('weir_key_budget_used_ratio{workspace="a", key="k"}', 0.5, 0.9),
  WeirBalanceRunsOut: {
    series: {
      'weir_workspace_available_usd{workspace="a"}': '100+0x4 9+0x29 100+0x29',
      'weir_workspace_spend_usd_per_day{workspace="a"}': '5+0x70',
      // Spends nothing, and owes.
      'weir_workspace_available_usd{workspace="b"}': '-1+0x70',
      'weir_workspace_spend_usd_per_day{workspace="b"}': '0+0x70',
    },
    fires: 30,
    quiet: [4, 50],
  },
  WeirEngineCountsWrong: counter('weir_implausible_usage_total{backend="a"}'),
};
