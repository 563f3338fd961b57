import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type Alert, alerts, ruleGroups } from '../../../../scripts/monitoring/alerts.ts';
import { findPrometheus } from '../../../support/find-prometheus.ts';
import { freePort } from '../../../support/free-port.ts';
import { untilHolds } from '../../../support/until-holds.ts';

/** Alerts that need a cluster, or minutes, in the order of the rules: test/kube/alerts.test.ts fires them, test/envoy/alerts.test.ts all others. */
export const alertsOfCluster = ['WeirRetentionStuck', 'WeirCatalogOld', 'WeirNoLeader', 'WeirEnvoyDoesNotFollow'];

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
}

/** A real Prometheus with Weir's rules, which scrapes every second what a test names. */
export interface TestPrometheus {
  /** `http://127.0.0.1:PORT/api/v1` */
  readonly api: string;
  /** Scrapes these addresses from now on, in place of those before, with the namespace as a label. */
  readonly scrape: (namespace: string, urls: readonly string[]) => void;
  /** The token for the portal of `scrapePortal`. */
  readonly scrapePortal: (namespace: string, portal: { readonly url: string; readonly token: string }) => void;
  readonly query: (expr: string) => Promise<readonly Sample[]>;
  /** The names of the alerts that fire in a namespace. */
  readonly firing: (namespace: string) => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

/** Thresholds in place of those of the rules, by the name of the alert. */
type Thresholds = Readonly<Record<string, number>>;

/**
 * Starts one. What takes minutes by design shows within seconds here: no alert has to be so for a time, and a threshold can be lower.
 * `promtool test rules` has the real times and thresholds (`rule-cases.ts`).
 */
export async function startPrometheus(lower: Thresholds = {}): Promise<TestPrometheus> {
  const lowered = (alert: Alert): Alert => {
    const threshold = lower[alert.name];
    return threshold === undefined ? alert : { ...alert, threshold };
  };
  const { prometheus } = await findPrometheus();
  const folder = mkdtempSync(join(tmpdir(), 'weir-prometheus-'));
  const file = (name: string): string => join(folder, name);
  writeFileSync(
    file('rules.yaml'),
    stringify(JSON.parse(JSON.stringify(ruleGroups(alerts.map(lowered))).replaceAll(/"for":"\w+"/g, '"for":"0s"'))),
  );
  for (const name of ['targets.json', 'portal.json']) writeFileSync(file(name), '[]');
  writeFileSync(file('portal-token'), 'none');
  const found = (name: string): object => ({ file_sd_configs: [{ files: [name] }] });
  writeFileSync(
    file('prometheus.yml'),
    stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: ['rules.yaml'],
      scrape_configs: [
        { job_name: 'weir', ...found('targets.json') },
        { job_name: 'weir-portal', authorization: { credentials_file: 'portal-token' }, ...found('portal.json') },
      ],
    }),
  );
  const port = await freePort();
  const child = spawn(prometheus, [
    '--enable-feature=exemplar-storage',
    `--config.file=${file('prometheus.yml')}`,
    `--storage.tsdb.path=${file('data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=error',
  ]);
  const ended = once(child, 'exit');
  const api = `http://127.0.0.1:${port}/api/v1`;

  const query = async (expr: string): Promise<readonly Sample[]> => {
    const response = await fetch(`${api}/query`, { method: 'POST', body: new URLSearchParams({ query: expr }) });
    const answer = (await response.json()) as {
      readonly error?: string;
      readonly data?: { readonly result: Sample[] };
    };
    if (answer.data === undefined) throw new Error(`${expr}: ${answer.error}`);
    return answer.data.result;
  };
  const targets = new Map<string, readonly string[]>();
  const group = ([namespace, urls]: readonly [string, readonly string[]]): object => ({
    ...{ targets: urls.map((url) => new URL(url).host), labels: { namespace } },
  });
  await untilHolds(() => query('vector(1)'));

  return {
    api,
    query,
    scrape: (namespace, urls) => {
      targets.set(namespace, urls);
      writeFileSync(file('targets.json'), JSON.stringify([...targets].map(group)));
    },
    scrapePortal: (namespace, { url, token }) => {
      writeFileSync(file('portal-token'), token);
      writeFileSync(file('portal.json'), JSON.stringify([group([namespace, [url]])]));
    },
    firing: async (namespace) =>
      (await query(`ALERTS{alertstate="firing", namespace="${namespace}"}`)).map(
        ({ metric }) => metric['alertname'] ?? '',
      ),
    close: async () => {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true });
    },
  };
}
