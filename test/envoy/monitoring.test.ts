import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Registry } from 'prom-client';
import { stringify } from 'yaml';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { alerts, exprOf, recordings, ruleGroups } from '../../scripts/monitoring/alerts.ts';
import { dashboards } from '../../scripts/monitoring/dashboards.ts';
import { addAccountMetrics } from '../../src/portal/account-metrics.ts';
import { createSlices } from '../../src/process/turns.ts';
import { createMetrics } from '../../src/telemetry/ops/metrics.ts';
import { type FakeEngine, startFakeEngine } from '../fake-engine/fake-engine.ts';
import { findOrInstall } from '../support/debian-package.ts';
import { findPrometheus, prometheusBuildMs } from '../support/find-prometheus.ts';
import { freePort } from '../support/free-port.ts';
import { idleFigures } from '../support/idle-figures.ts';
import { idleMoney } from '../support/idle-money.ts';
import { runWeir } from '../support/run-weir.ts';
import { backendManifest, modelManifest, startWeir, type Weir } from '../support/weir.ts';
import { ruleCases } from './support/rule-cases.ts';

const folder = mkdtempSync(join(tmpdir(), 'weir-prometheus-'));
/** What engines do with the next requests: `shaky` is asked first, and has a second route behind it; `alone` has none. */
const mood = { shaky: 'well', alone: 'well' } as Record<'shaky' | 'alone', 'well' | 'ill' | 'cut'>;
const engines: FakeEngine[] = [];
let weir: Weir;
let isServing = true;
let synthetic: Server;
let prometheus: ChildProcess;
let api: string;

const events = (parts: readonly object[]): string => parts.map((part) => `data: ${JSON.stringify(part)}\n\n`).join('');
const delta = (content: string): object => ({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });
const usage = {
  ...{ prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 1 },
};

function startMoody(moodOf: () => 'well' | 'ill' | 'cut'): Promise<FakeEngine> {
  return startFakeEngine(({ response }) => {
    const now = moodOf();
    if (now === 'ill') {
      response.writeHead(503, { 'content-type': 'application/json' }).end('{"error":{"message":"ill"}}');
      return;
    }
    response.setHeader('content-type', 'text/event-stream');
    response.write(events([delta('one')]));
    if (now === 'cut') {
      setImmediate(() => response.destroy());
      return;
    }
    response.write(events([delta(' two'), delta(' three')]));
    response.write(events([{ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, { choices: [], usage }]));
    response.end('data: [DONE]\n\n');
  });
}

let asked = 0;
/** No prompt comes twice: one that fails again and again would be at fault itself. */
const ask = async (model: string, key = weir.key): Promise<number> => {
  asked += 1;
  const body = { model, stream: true, messages: [{ role: 'user', content: `Hello ${asked}` }] };
  const answer = await weir.chat(body, { authorization: `Bearer ${key}` });
  await answer.text();
  return answer.status;
};

beforeAll(async () => {
  const { prometheus: prometheusPath } = await findPrometheus();
  const shaky = await startMoody(() => mood.shaky);
  const steady = await startMoody(() => 'well');
  const alone = await startMoody(() => mood.alone);
  engines.push(shaky, steady, alone);
  const envoyPort = await freePort();
  weir = await startWeir({
    manifests: {
      'catalog.yaml': [
        ...[backendManifest('shaky', shaky), backendManifest('steady', steady), backendManifest('alone', alone)],
        ...[modelManifest('test/pair', ['shaky', 'steady']), modelManifest('test/alone', ['alone'])],
      ].join(''),
    },
    env: { WEIR_ENVOY_OPS_PORT: String(envoyPort) },
    unlimited: true,
  });
  synthetic = createServer((_, response) => {
    response.setHeader('content-type', 'text/plain; version=0.0.4');
    void renderElsewhere().then((text) => response.end(text));
  }).listen(0);
  await once(synthetic, 'listening');
  const target = (namespace: string, port: number | string): object => ({
    ...{ targets: [`127.0.0.1:${port}`], labels: { namespace } },
  });
  // What takes minutes by design must show within seconds here; `promtool test rules` below has the real times.
  const rules = JSON.parse(JSON.stringify(ruleGroups()).replaceAll(/"for":"\w+"/g, '"for":"0s"')) as object;
  writeFileSync(join(folder, 'rules.yaml'), stringify(rules));
  writeFileSync(
    join(folder, 'prometheus.yml'),
    stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: ['rules.yaml'],
      scrape_configs: [
        { job_name: 'weir', static_configs: [target('real', new URL(weir.opsUrl).port), target('real', envoyPort)] },
        {
          job_name: 'elsewhere',
          static_configs: [target('elsewhere', (synthetic.address() as AddressInfo).port)],
        },
      ],
    }),
  );
  const port = await freePort();
  api = `http://127.0.0.1:${port}/api/v1`;
  prometheus = spawn(prometheusPath, [
    '--enable-feature=exemplar-storage',
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=error',
  ]);
}, prometheusBuildMs);

afterAll(async () => {
  const ended = once(prometheus, 'exit');
  prometheus.kill('SIGTERM');
  await ended;
  synthetic.closeAllConnections();
  await new Promise((resolve) => synthetic.close(resolve));
  if (isServing) await weir.close();
  await Promise.all(engines.map((engine) => engine.close()));
  rmSync(folder, { recursive: true });
});

/** The metrics of a replica that has what this machine does not: a cluster, shared limits, hedges. */
const elsewhere = createMetrics(
  {
    ...idleFigures(),
    catalog: () => ({ models: new Map([['test/pair', undefined]]), servedAt: 0, routes: [] }),
    edgeAdmitRatio: () => 1,
    sharing: () => ({ isShared: true, replicas: 3, late: 0 }),
    droppedLogRecords: () => 0,
  },
  { inSlices: createSlices() },
);
elsewhere.attempt('test/pair@shaky', { reason: 'hedge', step: 'route', pick: undefined });
elsewhere.implausibleUsage('test/pair@shaky');

/** Of the portal there. */
const money = new Registry();
addAccountMetrics(money, async () => idleMoney, { elapsed: () => 0 });

const renderElsewhere = async (): Promise<string> =>
  `${await elsewhere.render('prometheus')}${await money.metrics()}envoy_server_days_until_first_cert_expiring 80\n`;

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
}

async function query(expr: string): Promise<readonly Sample[]> {
  const dispatched = await fetch(`${api}/query`, { method: 'POST', body: new URLSearchParams({ query: expr }) });
  const answer = (await dispatched.json()) as {
    readonly status: string;
    readonly error?: string;
    readonly data?: { readonly result: readonly Sample[] };
  };
  if (answer.data === undefined) throw new Error(`${expr}: ${answer.error}`);
  return answer.data.result;
}

const firing = async (alertname: string): Promise<number> =>
  (await query(`ALERTS{alertname="${alertname}", alertstate="firing"}`)).length;

test('a real Prometheus scrapes a real run: every query of every panel and rule has data, alerts fire and stop', async () => {
  await expect.poll(() => query('up').catch(() => [])).toHaveLength(3);
  // Everything that can happen to a request here.
  const everything = async (): Promise<void> => {
    mood.shaky = 'well';
    expect(await ask('test/pair')).toBe(200);
    expect(await ask('test/alone')).toBe(200);
    mood.shaky = 'ill';
    expect(await ask('test/pair')).toBe(200);
    mood.shaky = 'cut';
    await ask('test/pair');
    expect(await ask('test/unknown')).toBe(400);
    expect(await ask('test/pair', 'sk-weir-nobody')).toBe(401);
  };
  await everything();

  mood.alone = 'ill';
  await expect.poll(async () => (await ask('test/alone'), await firing('WeirNoRoute')), { interval: 200 }).toBe(1);
  expect(await firing('WeirBackendWithoutEndpoint')).toBe(1);
  await expect.poll(async () => (await ask('test/alone'), await firing('WeirErrorBudgetBurnFast'))).toBeGreaterThan(0);
  expect(await firing('WeirErrorBudgetBurnSlow')).toBeGreaterThan(0);
  mood.alone = 'well';
  await expect.poll(async () => (await ask('test/alone'), await firing('WeirNoRoute')), { interval: 500 }).toBe(0);
  await expect.poll(() => firing('WeirBackendWithoutEndpoint')).toBe(0);

  // Last, because nothing is served to a blocked address.
  await blockAddress();
  await expect.poll(() => query('rate(weir_limit_refusals_total{namespace="real"}[2m])')).not.toEqual([]);

  const inNamespace = (expr: string, namespace: string): string =>
    expr
      .replaceAll('$namespace', namespace)
      .replaceAll('$__rate_interval', '2m')
      .replaceAll('$__range', '2m')
      .replaceAll(/\$(model|backend)/g, '.*');
  const withoutData: string[] = [];
  for (const { uid, rows } of dashboards) {
    for (const panel of rows.flatMap(({ panels }) => panels)) {
      for (const { expr, legend, needs } of panel.queries) {
        const found = await query(inNamespace(expr, needs === undefined ? 'real' : 'elsewhere'));
        if (found.length === 0) withoutData.push(`${uid}: ${panel.title}: ${legend}`);
      }
    }
  }
  for (const { record, expr } of recordings) {
    if ((await query(expr)).length === 0 || (await query(record)).length === 0) withoutData.push(record);
  }
  for (const alert of alerts) {
    const { name } = alert;
    // Without its comparisons an alert is a figure, which must be there for the alert ever to fire.
    for (const side of exprOf(alert).split(/ (?:and on \([\w, ]+\)|and|or) /)) {
      const figure = side.replace(/ (?:[<>]|==) [\d.]+$/, '');
      // These two have data only while something is wrong. alerts.test.ts fires their alerts.
      if (figure.startsWith('absent') || figure.includes('weir_problem{')) continue;
      if ((await query(figure)).length === 0) withoutData.push(`${name}: ${figure}`);
    }
  }
  expect(withoutData).toEqual([]);
});

/** Failed keys until the address is blocked: a limit refuses. */
async function blockAddress(): Promise<void> {
  for (let count = 0; count < 40; count += 1) await ask('test/pair', `sk-weir-nobody-${count}`);
  await expect.poll(() => weir.metric('weir_limit_refusals_total', { limit: 'address-blocked' })).toBeGreaterThan(0);
}

/** Runs promtool; rejects with what it says when it finds a fault. */
async function promtool(args: readonly string[], input = ''): Promise<string> {
  const { promtool: path } = await findPrometheus();
  return new Promise((resolve, reject) => {
    const child = execFile(path, args, { cwd: folder }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(`${stdout}${stderr}`)),
    );
    child.stdin?.end(input);
  });
}

test('a real Prometheus gets exemplars, by which `weir explain` finds a request', async () => {
  const exemplar = async (): Promise<string | undefined> => {
    const name = 'gen_ai_server_request_duration_seconds_bucket{namespace="real", gen_ai_request_model="test/pair"}';
    const range = { query: name, start: String(Date.now() / 1000 - 600), end: String(Date.now() / 1000) };
    const answer = (await (await fetch(`${api}/query_exemplars?${new URLSearchParams(range).toString()}`)).json()) as {
      readonly data: readonly { readonly exemplars: readonly { readonly labels: Record<string, string> }[] }[];
    };
    return answer.data[0]?.exemplars[0]?.labels['request_id'];
  };
  await expect.poll(exemplar).toMatch(/^chatcmpl-/);
  const { code, stdout } = await runWeir(['explain', (await exemplar()) ?? '', '--data', weir.data]);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('for test/pair as a stream') });
});

test('promtool and amtool find no fault in the example for one machine', async () => {
  const root = join(import.meta.dirname, '..', '..');
  const example = (name: string): string => join(root, 'examples', 'monitoring', name);
  // As run.sh puts them there.
  const beside = mkdtempSync(join(folder, 'example-'));
  copyFileSync(example('prometheus.yml'), join(beside, 'prometheus.yml'));
  copyFileSync(join(root, 'charts/weir/files/monitoring/rules.yaml'), join(beside, 'rules.yaml'));
  writeFileSync(join(beside, 'portal-token'), 'weir-sa-x');
  expect(await promtool(['check', 'config', join(beside, 'prometheus.yml')])).toContain('SUCCESS');
  const amtool = await findOrInstall({ program: 'amtool', package: 'prometheus-alertmanager' });
  expect((await promisify(execFile)(amtool, ['check-config', example('alertmanager.yml')])).stdout).toContain(
    'SUCCESS',
  );
});

test('promtool finds no fault in the metrics of a real run, nor in those of a replica that has everything', async () => {
  await promtool(['check', 'metrics'], await (await fetch(weir.opsUrl)).text());
  await promtool(['check', 'metrics'], await elsewhere.render('prometheus'));
  await expect(promtool(['check', 'metrics'], '# TYPE weir_x counter\nweir_x 1\n')).rejects.toThrow('weir_x');
});

test('each alert fires under its fault, after its time, and stops after it', async () => {
  expect(Object.keys(ruleCases)).toEqual(alerts.map(({ name }) => name));
  writeFileSync(join(folder, 'real-rules.yaml'), stringify(ruleGroups()));
  await promtool(['check', 'rules', 'real-rules.yaml']);
  const tests = Object.entries(ruleCases).map(([name, { series, fires, quiet }]) => {
    const expr = `count(ALERTS{alertname="${name}", alertstate="firing"})`;
    return {
      interval: '1m',
      input_series: Object.entries(series).map(([of, values]) => ({ series: of, values })),
      promql_expr_test: [
        { expr, eval_time: `${fires}m`, exp_samples: [{ labels: '{}', value: 1 }] },
        ...quiet.map((minute) => ({ expr, eval_time: `${minute}m`, exp_samples: [] })),
      ],
    };
  });
  const file = (all: readonly object[]): void =>
    writeFileSync(
      join(folder, 'cases.yaml'),
      stringify({ rule_files: ['real-rules.yaml'], evaluation_interval: '1m', tests: all }),
    );
  file(tests);
  await promtool(['test', 'rules', 'cases.yaml']);
  // The proof fails where an alert does not stop.
  file(tests.slice(2, 3).map((one) => ({ ...one, input_series: [] })));
  await expect(promtool(['test', 'rules', 'cases.yaml'])).rejects.toThrow('FAILED');
});

test('an alert fires for a service that is gone beside others, and when none is scraped any more', async () => {
  const { port } = synthetic.address() as AddressInfo;
  expect(await firing('WeirAway')).toBe(0);
  isServing = false;
  await weir.close();
  await expect.poll(() => firing('WeirAway')).toBe(1);
  synthetic.close();
  synthetic.closeAllConnections();
  // Each of both, and that there is none.
  await expect.poll(() => firing('WeirAway')).toBe(3);
  synthetic.listen(port);
  await expect.poll(() => firing('WeirAway')).toBe(1);
});
