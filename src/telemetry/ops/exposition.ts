import Negotiator from 'negotiator';
import { type OpenMetricsContentType, openMetricsContentType, prometheusContentType, Registry } from 'prom-client';
import type { InSlices } from '../../core/clock.ts';

/** Formats of the text. Only OpenMetrics has exemplars. */
export type ExpositionFormat = 'prometheus' | 'openmetrics';

/** A registry of histograms with exemplars. The library supports exemplars only in registries of this format. */
export type ExemplarRegistry = Registry<OpenMetricsContentType>;

export function createExemplarRegistry(): ExemplarRegistry {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(openMetricsContentType);
  return registry;
}

/** All metrics with the same name, at most one from each registry. Each has labels of its own. */
export interface MetricFamily {
  readonly name: string;
  readonly registries: Iterable<Registry | ExemplarRegistry>;
}

export const contentTypes: Readonly<Record<ExpositionFormat, string>> = {
  prometheus: prometheusContentType,
  openmetrics: openMetricsContentType,
};

const formatOfType: ReadonlyMap<string, ExpositionFormat> = new Map([
  ['text/plain', 'prometheus'],
  ['application/openmetrics-text', 'openmetrics'],
]);

/**
 * The format that a scraper prefers by its `Accept` (RFC 9110 §12.5.1): the format with the greater weight, or the
 * first of two with equal weights. A scraper that names neither format gets Prometheus' text.
 *
 * The types are compared here, without their parameters. The library matches a range only with an offer that has all
 * parameters of the range. With it, Prometheus 3, which names OpenMetrics with `escaping=allow-utf-8`, would get the
 * text.
 */
export function formatFor(accept: string | undefined): ExpositionFormat {
  const named = new Negotiator({ headers: { accept } }).mediaTypes();
  const [preferred = 'prometheus'] = named.flatMap((type) => formatOfType.get(type.toLowerCase()) ?? []);
  return preferred;
}

/** Renders metrics in slices: one metric of one registry at a time (docs/decisions/0056). */
export async function renderMetrics(
  families: Iterable<MetricFamily>,
  { format, inSlices }: { readonly format: ExpositionFormat; readonly inSlices: InSlices },
): Promise<string> {
  const texts = await inSlices(singlesOf(families), async ({ name, registry, isFirst }) => {
    const text = inFormat(await registry.getSingleMetricAsString(name), format);
    return isFirst ? text : withoutHeader(text);
  });
  if (format === 'openmetrics') texts.push('# EOF');
  return `${texts.filter((text) => text !== '').join('\n')}\n`;
}

/**
 * The metrics of all registries one by one. A parser of the format expects `HELP` and `TYPE` once for each name, so
 * only the first metric of a name has them.
 */
function* singlesOf(families: Iterable<MetricFamily>) {
  for (const { name, registries } of families) {
    let isFirst = true;
    for (const registry of registries) {
      yield { name, registry, isFirst };
      isFirst = false;
    }
  }
}

/**
 * The library's two formats each have a flaw: one has no exemplars, and the other renames the counters of its registry
 * for good. So registries without exemplars are rendered in the first format and those with exemplars in the second,
 * and the differences are added here.
 */
function inFormat(text: string, format: ExpositionFormat): string {
  switch (format) {
    case 'prometheus':
      return text.replaceAll(/ # \{[^{}]*\} \S+ \S+$/gm, '');
    case 'openmetrics':
      // In OpenMetrics, the name of a counter does not have the suffix of its samples.
      return text.replace(/^# HELP (\w+)_total (.*)\n# TYPE \1_total counter$/m, '# HELP $1 $2\n# TYPE $1 counter');
  }
}

function withoutHeader(text: string): string {
  const end = text.indexOf('\n', text.indexOf('\n') + 1);
  return end === -1 ? '' : text.slice(end + 1);
}
