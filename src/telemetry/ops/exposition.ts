import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Registry } from 'prom-client';

/** The metrics of one name: each registry holds one of that name, with labels of its own. */
export interface MetricFamily {
  readonly name: string;
  readonly registries: Iterable<Registry>;
}

/**
 * How long rendering may hold the event loop, milliseconds. With 200 models that were all asked, prom-client would hold it for
 * 60 to 90 ms in one piece, and every answer under way would stand still (docs/decisions/0056).
 */
const sliceMs = 2;

/**
 * Renders metrics in Prometheus' text format, in slices: after each the event loop has a turn. The values of one text may
 * therefore be some milliseconds apart.
 */
export async function renderInSlices(families: Iterable<MetricFamily>): Promise<string> {
  const lines: string[] = [];
  let begun = performance.now();
  for (const { name, registries } of families) {
    let hasHeader = false;
    for (const registry of registries) {
      const text = await registry.getSingleMetricAsString(name);
      lines.push(hasHeader ? withoutHeader(text) : text);
      hasHeader = true;
      if (performance.now() - begun < sliceMs) continue;
      await nextTurn();
      begun = performance.now();
    }
  }
  return `${lines.filter((text) => text !== '').join('\n')}\n`;
}

/** A format's parser wants `HELP` and `TYPE` once for each name. */
function withoutHeader(text: string): string {
  const end = text.indexOf('\n', text.indexOf('\n') + 1);
  return end === -1 ? '' : text.slice(end + 1);
}
