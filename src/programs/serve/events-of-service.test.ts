// @suite both-databases
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { expect, it, onTestFinished } from 'vitest';
import { notedProgramLog } from '../../../test/support/noted-log.ts';
import { runCommand } from '../../../test/support/run-command.ts';
import { sampleAuthor, sampleDatabase, temporaryFolder } from '../../../test/support/sample-database.ts';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { databaseUrl } from '../../../test/support/sample-store.ts';
import { untilHolds } from '../../../test/support/until-holds.ts';
import { watchDependencies } from '../../core/dependency-cause.ts';
import { changeWorkspace } from '../../books/accounts/workspaces.ts';
import { readSettings } from '../../process/settings/read-settings.ts';
import { openEvents } from './open-events.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** A receiver that accepts everything. */
async function openReceiver() {
  const received: { readonly headers: IncomingHttpHeaders; readonly body: string }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request
      .on('data', (chunk: Buffer) => (body += chunk.toString()))
      .on('end', () => {
        received.push({ headers: request.headers, body });
        response.writeHead(204).end();
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/events` };
}

function fileWith(text: string): string {
  const file = join(temporaryFolder(), 'secret');
  writeFileSync(file, text);
  return file;
}

/** The events of a service with these settings, besides its database. */
function eventsOf(settings: Readonly<Record<string, string>>) {
  const { of: reportOf } = watchDependencies();
  return openEvents(readSettings(settings), notedProgramLog().programLog, { reportOf, changes: () => undefined });
}

it('a service sends what its settings say, signed, and again after the command of a replay', async () => {
  const { queries, location, ids, settle } = await sampleDatabase();
  const { received, url } = await openReceiver();
  const database = { WEIR_DATABASE_URL: databaseUrl(location) };
  const replay = () => runCommand(['events', 'replay', '--since', '2026-01-01', '--json'], { env: database });
  expect(await replay()).toMatchObject({ code: 1, stderr: expect.stringContaining('WEIR_EVENTS_URL') });

  const events = await eventsOf({
    ...{ ...database, WEIR_EVENTS_URL: url, WEIR_EVENTS_SECRET_FILE: fileWith(`${secret}\n`) },
    WEIR_EVENTS_TYPES: 'dev.weir.request.settled,dev.weir.credit',
  });
  onTestFinished(events.close);
  const subscriptions = () => queries.selectFrom('event_subscriptions').select('kinds').execute();
  await untilHolds(async () => expect(await subscriptions()).toEqual([{ kinds: 'request,credit' }]));
  await settle([sampleOutcome({ ...ids, requestId: 'req-1' }), sampleOutcome({ ...ids, requestId: 'req-2' })]);
  await untilHolds(() => expect(received).toHaveLength(1));
  const [{ headers, body } = { headers: {}, body: '' }] = received;
  expect(headers['content-type']).toBe('application/cloudevents-batch+json');
  const texts = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  expect(new Webhook(secret).verify(body, texts)).toMatchObject([{ id: 'req-1' }, { id: 'req-2' }]);
  await untilHolds(() => expect(events.deliveries?.()).toMatchObject([{ name: 'events', delivered: 2, waiting: 0 }]));

  const { stdout } = await replay();
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ since: '2026-01-01T00:00:00.000Z', types: ['dev.weir.request.settled', 'dev.weir.credit'] },
  });
  await untilHolds(() => expect(received).toHaveLength(3));
  expect(JSON.parse(received[1]?.body ?? '')).toEqual(JSON.parse(body));
  expect(JSON.parse(received[2]?.body ?? '')).toMatchObject([{ type: 'dev.weir.credit', data: { amount: '10' } }]);
});

it('a service finds the limits that callers can avoid', async () => {
  const { queries, location } = await sampleDatabase();
  await changeWorkspace(queries, 'acme', { tagTokensPerMinute: { 'team=search': 9 } }, sampleAuthor);
  const receiver = { WEIR_EVENTS_URL: 'http://127.0.0.1:1', WEIR_EVENTS_SECRET_FILE: fileWith(secret) };
  const events = await eventsOf({ ...receiver, WEIR_DATABASE_URL: databaseUrl(location) });
  onTestFinished(events.close);
  await untilHolds(() => expect(events.avoidable()).toMatchObject([{ workspace: 'acme', tags: ['team=search'] }]));
});

it.each([
  [{ WEIR_EVENTS_URL: 'http://127.0.0.1:1' }, 'WEIR_EVENTS_SECRET_FILE: needed with WEIR_EVENTS_URL'],
  [{ WEIR_WEBHOOK_URL: 'http://127.0.0.1:1' }, 'WEIR_WEBHOOK_SECRET_FILE: needed with WEIR_WEBHOOK_URL'],
])('refuses %j', async (settings, message) => {
  await expect(eventsOf(settings)).rejects.toThrow(message);
});

it('refuses a secret that is none, and a type that there is not', async () => {
  const settings = { WEIR_EVENTS_URL: 'http://127.0.0.1:1', WEIR_EVENTS_SECRET_FILE: fileWith('whsec_short') };
  await expect(eventsOf(settings)).rejects.toThrow('24 to 64 bytes in base64');
  expect(() => readSettings({ WEIR_EVENTS_TYPES: 'dev.weir.nothing' })).toThrow(
    'expected types of events with commas, of dev.weir.request.settled, ',
  );
});
