import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { call, samplePortal } from '../../test/support/sample-portal.ts';
import { DatabaseDown, type KeyChange } from '../books/core/administration.ts';
import { refusal } from '../books/core/operator-refusals.ts';
import type { KeyBlock } from '../core/key-block.ts';
import { createKeyOverrides } from './override-keys.ts';

const by = { actor: { kind: 'admin-token', name: 'admin' }, now: 5 } as const;

function start() {
  const clock = createFakeClock();
  const written: (readonly [string, KeyChange, number])[] = [];
  const blocked: KeyBlock[] = [];
  const logged: object[] = [];
  const state: { error: Error | undefined } = { error: undefined };
  const overrides = createKeyOverrides({
    clock,
    store: {
      changeKey: async (id: string, change: KeyChange, { now }: { readonly now: number }) => {
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
  return { ...overrides, clock, written, blocked, logged, state };
}

const suspend = { keyId: 'key_a', status: 'suspended', by } as const;

it('writes the status into the database, and nothing else while it answers', async () => {
  const { override, written, blocked } = start();
  expect(await override(suspend)).toEqual({ isStored: true, services: [] });
  expect(written).toEqual([['key_a', { status: 'suspended', override: true }, 5]]);
  expect(blocked).toEqual([]);
});

it('has the services hold the status while the database is down, and writes it afterwards, with its time', async () => {
  const { override, written, blocked, state, clock } = start();
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
  const { override, state, clock, logged } = start();
  state.error = new DatabaseDown('away');
  await override(suspend);
  state.error = refusal('key_not_found', { id: 'key_a' });
  clock.advance(2_000);
  await expect.poll(() => logged.length).toBe(1);
  clock.advance(2_000);
  expect(logged).toHaveLength(1);
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
