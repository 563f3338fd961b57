import { Registry } from 'prom-client';
import type { InSlices } from '../../core/clock.ts';
import type { PickReason } from '../../core/pool-prompt.ts';
import { countersOf, gaugesOf } from './declare.ts';
import { type ExpositionFormat, renderMetrics } from './exposition.ts';
import { addProcessMetrics } from './process-metrics.ts';

/** The metrics of an endpoint picker. */
export function createPickerMetrics(options: {
  readonly open: () => number;
  readonly endpoints: () => number;
  readonly inSlices: InSlices;
}) {
  const registry = new Registry();
  addProcessMetrics(registry);
  const counter = countersOf(registry);
  const gauge = gaugesOf(registry);
  const picks = counter('weir_picker_picks_total', 'Requests that got an endpoint, by reason for the pick.', 'why');
  const refusals = counter(
    'weir_picker_refusals_total',
    'Refused requests, by status. 503: no endpoint; 429: the first token would come too late.',
    'status',
  );
  gauge('weir_picker_endpoints', 'Endpoints that may get requests.', options.endpoints);
  gauge('weir_picker_open_requests', 'Requests whose answers have not ended.', options.open);
  return {
    picked: (why: PickReason): void => picks.inc({ why }),
    refused: (status: 429 | 503): void => refusals.inc({ status: String(status) }),
    render: (format: ExpositionFormat): Promise<string> => {
      const families = registry.getMetricsAsArray().map(({ name }) => ({ name, registries: [registry] }));
      return renderMetrics(families, { format, inSlices: options.inSlices });
    },
  };
}
