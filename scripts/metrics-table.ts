import { createSlices } from '../src/process/turns.ts';
import { createMetrics } from '../src/telemetry/ops/metrics.ts';
import { idleFigures } from '../test/support/idle-figures.ts';
import { markdownTable } from './markdown-table.ts';

/** The metrics that the service has now, for docs/reference/metrics.md. */
export function metricsTable(): string {
  const own = createMetrics(idleFigures(), { inSlices: createSlices() })
    .describe()
    .filter(({ name }) => !/^(process|nodejs)_/.test(name))
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en'));
  return markdownTable(
    ['metric', 'type', 'labels', 'of'],
    own.map(({ name, type, labels, help }) => [
      `\`${name}\``,
      type,
      labels.map((label) => `\`${label}\``).join(', '),
      help,
    ]),
  );
}
