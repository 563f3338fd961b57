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
    'Tries of this service that the receiver did not accept; the log says why.',
    ({ failedTries }) => failedTries,
  );
  gauge(
    'weir_events_waiting',
    'Events that are not delivered yet, counted in the database: the same on every service.',
    ({ waiting }) => waiting,
  );
  gauge(
    'weir_events_lag_seconds',
    'Age of the oldest event that is not delivered yet, in the database: the same on every service.',
    ({ lagMs }) => lagMs / 1000,
  );
  counter(
    'weir_events_dropped_total',
    'Events that no try will send, in the database: too many waited, a webhook was given up after a day, or the ledger does not keep them any more.',
    ({ dropped }) => dropped,
  );
}
