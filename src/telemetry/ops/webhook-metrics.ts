import type { Registry } from 'prom-client';
import type { DeliveryFigures } from '../../core/alert.ts';
import { addTotal, gaugesOf } from './declare.ts';

/** Reads the deliveries of this service, and how many wait in the database. */
export type WebhookFigures = () => DeliveryFigures;

/** Adds the deliveries of webhooks about thresholds. */
export function addWebhookMetrics(registry: Registry, figures: WebhookFigures): void {
  addTotal(registry, {
    name: 'weir_webhooks_delivered_total',
    help: 'Webhooks that the receiver accepted from this service.',
    total: () => figures().delivered,
  });
  addTotal(registry, {
    name: 'weir_webhooks_failed_total',
    help: 'Webhooks that this service gave up because the receiver accepted no try within a day.',
    total: () => figures().failed,
  });
  addTotal(registry, {
    name: 'weir_webhook_failed_tries_total',
    help: 'Tries of this service that the receiver did not accept; the log says why.',
    total: () => figures().failedTries,
  });
  gaugesOf(registry)(
    'weir_webhooks_waiting',
    'Webhooks that are not delivered yet and are tried again, counted in the database: the same on every service.',
    () => figures().waiting,
  );
}
