import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { call, samplePortal } from '../../test/support/sample-portal.ts';
import { DatabaseDown, type KeyChange } from '../books/core/administration.ts';
import { refusal } from '../books/core/operator-refusals.ts';
import type { KeyBlock } from '../core/key-block.ts';
import { createKeyOverrides, waitingOverrides } from './override-keys.ts';

const by = { actor: { kind: 'admin-token', name: 'admin' }, now: 5 } as const;

/** What a portal keeps, in place of a file. */
interface Kept {
  text: string;
  isBroken?: true;
}

async function start(file: Kept = { text: '[]' }) {
  const clock = createFakeClock();
  const written: (readonly [string, KeyChange, number])[] = [];
  const blocked: KeyBlock[] = [];
  const logged: object[] = [];
  const state: { error: Error | undefined; silence?: Promise<void> } = { error: undefined };
  const overrides = await createKeyOverrides({
    clock,
    kept: {
      read: async () => waitingOverrides.parse(JSON.parse(file.text)),
      replace: async (text) => {
        if (file.isBroken === true) throw new Error('the disk is full');
        file.text = text;
      },
    },
    store: {
      changeKey: async (id: string, change: KeyChange, { now }: { readonly now: number }) => {
        await state.silence;
        if (state.error !== undefined) throw state.error;
        written.push([id, change, now]);
      },
    } as never,
    services: {
      blockKey: async (block: KeyBlock) => {
        blocked.push(block);
        return { services: [{ service: 'http://a', answers: true, problem: null }], data: [] };
      },
    } as never,
    log: { warn: () => undefined, error: (facts: object) => void logged.push(facts) },
  });
  onTestFinished(overrides.close);
  return { ...overrides, clock, written, blocked, logged, state, file };
}

const suspend = { keyId: 'key_a', status: 'suspended', by } as const;

it('writes the status into the database, and nothing else while it answers', async () => {
  const { override, written, blocked } = await start();
  expect(await override(suspend)).toEqual({ isStored: true, services: [] });
  expect(written).toEqual([['key_a', { status: 'suspended', override: true }, 5]]);
  expect(blocked).toEqual([]);
});

it('has the services hold the status while the database is down, and writes it afterwards, with its time', async () => {
  const { override, written, blocked, state, clock } = await start();
  state.error = new DatabaseDown('away');
  expect(await override(suspend)).toMatchObject({ isStored: false, services: [{ answers: true }] });
  expect(blocked).toEqual([{ keyId: 'key_a', status: 'suspended', at: 5 }]);
  clock.advance(2_000);
  await nextTurn();
  expect(written).toEqual([]);
  state.error = undefined;
  clock.advance(2_000);
  await expect.poll(() => written).toEqual([['key_a', { status: 'suspended', override: true }, 5]]);
});

it('logs a status that the database refuses afterwards, and tries it no more', async () => {
  const { override, state, clock, logged } = await start();
  state.error = new DatabaseDown('away');
  await override(suspend);
  state.error = refusal('key_not_found', { id: 'key_a' });
  clock.advance(2_000);
  await expect.poll(() => logged.length).toBe(1);
  clock.advance(2_000);
  expect(logged).toHaveLength(1);
});

it('writes every status in its order, and a later one only after those that wait', async () => {
  const { override, written, state } = await start();
  state.error = new DatabaseDown('away');
  await override(suspend);
  await override({ ...suspend, status: 'active', by: { ...by, now: 6 } });
  state.error = undefined;
  expect(await override({ ...suspend, status: 'revoked', by: { ...by, now: 7 } })).toMatchObject({ isStored: true });
  expect(written.map(([, { status }, now]) => [status, now])).toEqual([
    ['suspended', 5],
    ['active', 6],
    ['revoked', 7],
  ]);
});

it('writes what the portal before it could not, and has the services hold it until then', async () => {
  const first = await start();
  first.state.error = new DatabaseDown('away');
  await first.override(suspend);
  first.close();
  const next = await start(first.file);
  next.state.error = new DatabaseDown('away');
  next.clock.advance(2_000);
  await expect.poll(() => next.blocked).toEqual([{ keyId: 'key_a', status: 'suspended', at: 5 }]);
  next.state.error = undefined;
  next.clock.advance(2_000);
  await expect.poll(() => next.written).toEqual([['key_a', { status: 'suspended', override: true }, 5]]);
  await expect.poll(() => first.file.text).toBe('[]');
});

it('has the services hold a status that cannot be kept, and logs that a restart would lose it', async () => {
  const { override, logged, state } = await start({ text: '[]', isBroken: true });
  state.error = new DatabaseDown('away');
  expect(await override(suspend)).toMatchObject({ isStored: false, services: [{ answers: true }] });
  expect(logged).toEqual([{ err: new Error('the disk is full') }]);
});

it('has the services hold the status where the database does not answer at all, and writes it once', async () => {
  const { override, written, blocked, state, clock } = await start();
  const silence = Promise.withResolvers<void>();
  state.silence = silence.promise;
  const answer = override(suspend);
  await nextTurn();
  clock.advance(500);
  expect(await answer).toMatchObject({ isStored: false });
  expect(blocked).toHaveLength(1);
  clock.advance(2_000);
  silence.resolve();
  await expect.poll(() => written).toHaveLength(1);
  clock.advance(10_000);
  await nextTurn();
  expect(written).toHaveLength(1);
});

it('rejects with the refusal of the database, and keeps nothing', async () => {
  const { override, state, file } = await start();
  state.error = refusal('key_not_found', { id: 'key_a' });
  await expect(override(suspend)).rejects.toThrow(state.error);
  expect(file.text).toBe('[]');
});

it('is a route of admins, for keys of any workspace', async () => {
  const { server, otherKey, blocks } = await samplePortal();
  const url = `/api/v1/keys/${otherKey.id}/override`;
  expect(await call(server, { method: 'POST', url, payload: { status: 'suspended' } })).toMatchObject({
    ...{ status: 200, body: { id: otherKey.id, status: 'suspended', stored: true, services: [] } },
  });
  expect(blocks).toEqual([]);
  expect(await call(server, { method: 'POST', url, payload: { status: 'gone' } })).toMatchObject({ status: 400 });
  const unknown = '/api/v1/keys/key_unknown/override';
  expect(await call(server, { method: 'POST', url: unknown, payload: { status: 'active' } })).toMatchObject({
    status: 404,
  });
});
