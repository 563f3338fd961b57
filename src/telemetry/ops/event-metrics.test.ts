import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { addEventMetrics } from './event-metrics.ts';

it('counts what was delivered of each subscription, and shows what waits and for how long', async () => {
  const registry = new Registry();
  let figures = { delivered: 2, failedTries: 7, waiting: 3, rows: 3, lagMs: 61_000, dropped: 1, droppedSince: 0 };
  addEventMetrics(registry, () => [{ name: 'events', ...figures }]);
  const lines = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('weir_'));
  expect(await lines()).toEqual([
    'weir_events_delivered_total{subscription="events"} 2',
    'weir_events_failed_tries_total{subscription="events"} 7',
    'weir_events_waiting{subscription="events"} 3',
    'weir_events_lag_seconds{subscription="events"} 61',
    'weir_events_dropped_total{subscription="events"} 1',
  ]);
  figures = { ...figures, delivered: 5, waiting: 0, lagMs: 0 };
  expect(await lines()).toEqual([
    'weir_events_delivered_total{subscription="events"} 5',
    'weir_events_failed_tries_total{subscription="events"} 7',
    'weir_events_waiting{subscription="events"} 0',
    'weir_events_lag_seconds{subscription="events"} 0',
    'weir_events_dropped_total{subscription="events"} 1',
  ]);
});
