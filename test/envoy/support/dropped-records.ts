import { metricIn } from '../../support/metric-in.ts';
import { chat, type Started } from '../../support/start.ts';

/** Log records that a service has dropped so far. */
async function droppedRecords(metricsUrl: string): Promise<number> {
  return metricIn(await (await fetch(metricsUrl)).text(), 'weir_log_dropped_records_total');
}

/** As `droppedRecords`, after a hundred requests at once. A megabyte of records waits for a disk before any is dropped. */
export async function droppedAfterRequests(gateway: Started, metricsUrl: string): Promise<number> {
  await Promise.all(Array.from({ length: 100 }, async () => (await chat(gateway, {})).text()));
  return droppedRecords(metricsUrl);
}
