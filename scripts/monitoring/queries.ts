/** One line or column of a panel, or the figure of an alert. */
export interface Query {
  readonly expr: string;
  /** Names a line by its labels: `{{model}}`. */
  readonly legend: string;
  /**
   * Where the metrics of the query are: not in every installation. `valkey`: with shared limits. `cluster`: on Kubernetes. `hedge`,
   * `search`: once one was made. Undefined: wherever requests are served.
   */
  readonly needs?: 'valkey' | 'cluster' | 'hedge' | 'search' | 'journal' | undefined;
}

export interface Panel {
  readonly title: string;
  /** What it shows, and what to make of it. */
  readonly description: string;
  readonly kind: 'lines' | 'stat';
  /** Of Grafana: `s`, `reqps`, `percentunit`, `bytes`, `short`, `currencyUSD`. */
  readonly unit: string;
  readonly queries: readonly Query[];
}

export interface Dashboard {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** Labels that the reader chooses, each with the metric that has its values. */
  readonly variables: readonly { readonly label: string; readonly metric: string }[];
  readonly rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[];
}

/** `per` second over the window that Grafana finds right for the resolution. */
export const rate = (selector: string): string => `rate(${selector}[$__rate_interval])`;

/** A selector within the namespaces that the reader has chosen. On one machine there is no such label, and all are meant. */
export function of(metric: string, ...matchers: readonly string[]): string {
  return `${metric}{${['namespace=~"$namespace"', ...matchers].join(', ')}}`;
}

export function quantile(share: number, bucket: string, by = ''): string {
  return `histogram_quantile(${share}, sum by (le${by === '' ? '' : `, ${by}`}) (${rate(bucket)}))`;
}

export const lines = (
  title: string,
  description: string,
  { unit, queries }: { readonly unit: string; readonly queries: readonly Query[] },
): Panel => ({ title, description, kind: 'lines', unit, queries });
export const stat = (
  title: string,
  description: string,
  { unit, queries }: { readonly unit: string; readonly queries: readonly Query[] },
): Panel => ({ title, description, kind: 'stat', unit, queries });

/** How requests end that the service or its engines have failed. */
export const failedOutcomes = 'outcome=~"failed|interrupted|incomplete|service-lost"';
