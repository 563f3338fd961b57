import { Counter, type Registry } from 'prom-client';
import type { SubscriptionFigures } from '../../core/event-delivery.ts';
import { labelledGaugesOf } from './declare.ts';

/** Reads the deliveries of this service, and what waits in the database. */
export type EventFigures = () => readonly SubscriptionFigures[];

/** Adds the deliveries of events and of webhooks about thresholds, by subscription. */
export function addEventMetrics(registry: Registry, figures: EventFigures): void {
  const labelNames = ['subscription'] as const;
  const counter = (name: string, help: string, read: (figure: SubscriptionFigures) => number): void => {
    new Counter({
      ...{ name, help, labelNames, registers: [registry] },
      collect() {
        this.reset();
        for (const figure of figures()) this.inc({ subscription: figure.name }, read(figure));
      },
    });
  };
  const gauge = (name: string, help: string, read: (figure: SubscriptionFigures) => number): void =>
    labelledGaugesOf(registry)(name, help, labelNames, () =>
      figures().map((figure) => [{ subscription: figure.name }, read(figure)] as const),
    );
  counter(
    'weir_events_delivered_total',
    'Events that the receiver accepted from this service. events: CloudEvents; alerts: webhooks about thresholds.',
    ({ delivered }) => delivered,
  );
  counter(
    'weir_events_failed_tries_total',
    'Failed deliveries of this service; the log contains the reason.',
    ({ failedTries }) => failedTries,
  );
  gauge(
    'weir_events_waiting',
    'Undelivered events in the database: the same on every service.',
    ({ waiting }) => waiting,
  );
  gauge(
    'weir_events_lag_seconds',
    'Age of the oldest undelivered event in the database: the same on every service.',
    ({ lagMs }) => lagMs / 1000,
  );
  counter(
    'weir_events_dropped_total',
    'Dropped events in the database: too many were waiting, a webhook was undelivered for a day, or the ledger has deleted the request.',
    ({ dropped }) => dropped,
  );
}
