import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { addWebhookMetrics } from './webhook-metrics.ts';

it('webhooks are counted by their end, and those that wait are a gauge that falls', async () => {
  const registry = new Registry();
  let figures = { delivered: 2, failed: 1, failedTries: 7, waiting: 3 };
  addWebhookMetrics(registry, () => figures);
  const lines = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('weir_'));
  expect(await lines()).toEqual([
    'weir_webhooks_delivered_total 2',
    'weir_webhooks_failed_total 1',
    'weir_webhook_failed_tries_total 7',
    'weir_webhooks_waiting 3',
  ]);
  figures = { delivered: 5, failed: 1, failedTries: 7, waiting: 0 };
  expect(await lines()).toEqual([
    'weir_webhooks_delivered_total 5',
    'weir_webhooks_failed_total 1',
    'weir_webhook_failed_tries_total 7',
    'weir_webhooks_waiting 0',
  ]);
});
