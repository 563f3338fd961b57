import { readFileSync } from 'node:fs';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { alerts, recordings } from '../../scripts/monitoring/alerts.ts';
import { dashboards } from '../../scripts/monitoring/dashboards.ts';
import { readPage, withoutMarks, writtenPages } from '../../scripts/pages.ts';
import { addAccountMetrics } from '../../src/portal/account-metrics.ts';
import { createSlices } from '../../src/process/turns.ts';
import { createMetrics } from '../../src/telemetry/ops/metrics.ts';
import { createFakeClock } from '../support/fake-clock.ts';
import { idleFigures } from '../support/idle-figures.ts';
import { idleMoney } from '../support/idle-money.ts';

const portal = new Registry();
addAccountMetrics(portal, () => Promise.resolve(idleMoney), createFakeClock());
const described = [
  ...createMetrics(idleFigures(), { inSlices: createSlices() }).describe(),
  ...portal.getMetricsAsArray().map(({ name }) => ({ name, type: 'gauge', labels: ['workspace', 'key'] })),
];
const names = new Set([
  ...described.flatMap(({ name, type }) =>
    type === 'histogram' ? [name, `${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  ),
  ...recordings.map(({ record }) => record),
  // Envoy's, of the module that counts connections.
  ...['weir_connections_refused', 'weir_connections_closed_idle'],
  // Those of the other programs.
  ...['telemetry/ops/picker-metrics', 'portal/metrics'].flatMap((file) =>
    [...readFileSync(`src/${file}.ts`, 'utf8').matchAll(/'(weir_\w+)'/g)].map(([, name = '']) => name),
  ),
]);
const labels = new Set(described.flatMap((metric) => metric.labels));
const queries = dashboards.flatMap(({ uid, rows }) =>
  rows.flatMap(({ panels }) =>
    panels.flatMap((panel) => panel.queries.map(({ expr }) => [`${uid}: ${panel.title}`, expr] as const)),
  ),
);
const metricsIn = (text: string): readonly string[] =>
  [...text.matchAll(/(?<![\w:])(?:weir|gen_ai_(?:server|client))[_:][\w:]+/g)].map(([name]) => name);

it.each([
  ...queries,
  ...[...alerts, ...recordings].map((rule) => ['name' in rule ? rule.name : rule.record, rule.expr] as const),
])('%s asks for metrics that there are', (_, expr) => {
  expect(metricsIn(expr).filter((name) => !names.has(name) && !labels.has(name))).toEqual([]);
});

it('each alert has its section in the runbooks, and each section its alert', () => {
  const text = readFileSync('docs/operate/runbooks.md', 'utf8');
  const sections = [...text.matchAll(/^## (\w+)\n\n- ([^]*?)\n- ([^]*?)\n- ([^]*?)\n(?=\n## |$(?![^]))/gm)];
  expect(sections.map(([, name]) => name)).toEqual(alerts.map(({ name }) => name));
  for (const [, name, means, look, act] of sections) {
    const { severity } = alerts.find((alert) => alert.name === name) ?? {};
    expect(means).toMatch(new RegExp(`^\\*\\*Means\\*\\* \\(${severity}\\)`));
    expect([look, act]).toEqual([expect.stringMatching(/^\*\*Look at\*\*/), expect.stringMatching(/^\*\*Do\*\*/)]);
  }
});

/** What a page names now, without names of before. */
function namedOn(path: string, pattern: RegExp): readonly string[] {
  const [now = ''] = withoutMarks(readPage(path)).split('## Renamed metrics', 1);
  return [...now.matchAll(pattern)].map(([, name = '']) => name);
}

it('pages name metrics and alerts that there are', () => {
  // A database of an example.
  const known = new Set([...names, ...labels, ...alerts.map(({ name }) => name), 'weir_restored']);
  const pages = writtenPages().filter((path) => !path.startsWith('docs/decisions/'));
  const named = pages.flatMap((path) =>
    namedOn(path, /(?<![\w/])((?:weir|gen_ai)_[a-z_]+[a-z]|Weir[A-Z][A-Za-z]+)(?![\w…])/g),
  );
  expect(named.length).toBeGreaterThan(300);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

it('what scales the pods asks for metrics that there are, of requests under way and of tokens', () => {
  const asked = metricsIn(readFileSync('charts/weir/templates/scaling.yaml', 'utf8'));
  expect(asked.filter((name) => !names.has(name))).toEqual([]);
  expect(new Set(asked)).toEqual(
    new Set(['weir_requests_in_flight', 'gen_ai_client_inference_usage_output_tokens_total']),
  );
});

it('the table of old names leads to metrics that there are', () => {
  const [, table = ''] = readFileSync('docs/reference/metrics.md', 'utf8').split('## Renamed metrics');
  const now = table.split('\n').flatMap((row) => metricsIn(row.split('|')[2] ?? ''));
  expect(now.length).toBeGreaterThan(15);
  expect(now.filter((name) => !names.has(name))).toEqual([]);
});
