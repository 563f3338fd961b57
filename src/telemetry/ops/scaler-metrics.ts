import { Gauge, Registry } from 'prom-client';
import type { InSlices } from '../../core/clock.ts';
import { countersOf, gaugesOf } from './declare.ts';
import { type ExpositionFormat, renderMetrics } from './exposition.ts';
import { addProcessMetrics } from './process-metrics.ts';

/** The metrics of the scaler for KEDA. */
export interface ScalerMetrics {
  readonly answered: (method: string, result: string) => void;
  /** The services were asked for their demand. */
  readonly asked: (services: number, answered: number) => void;
  readonly render: (format: ExpositionFormat) => Promise<string>;
}

export function createScalerMetrics(options: {
  readonly streams: () => number;
  readonly inSlices: InSlices;
}): ScalerMetrics {
  const registry = new Registry();
  addProcessMetrics(registry);
  const answers = countersOf(registry)(
    'weir_scaler_answers_total',
    'Answers to KEDA, by method and result. wrong: the metadata of the trigger. unknown: there is no such Backend. unavailable: no service of the gateway answers.',
    ...(['method', 'result'] as const),
  );
  gaugesOf(registry)('weir_scaler_streams', 'Open streams of triggers of the type external-push.', options.streams);
  const services = new Gauge({
    name: 'weir_scaler_services',
    help: 'Services of the gateway when they were last asked, by whether they answered.',
    registers: [registry],
    labelNames: ['answers'] as const,
  });
  return {
    answered: (method, result) => answers.inc({ method, result }),
    asked: (all, answered) => {
      services.set({ answers: 'yes' }, answered);
      services.set({ answers: 'no' }, all - answered);
    },
    render: (format) => {
      const families = registry.getMetricsAsArray().map(({ name }) => ({ name, registries: [registry] }));
      return renderMetrics(families, { format, inSlices: options.inSlices });
    },
  };
}
