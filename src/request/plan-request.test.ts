import { describe, expect, it } from 'vitest';
import type { Route } from '../core/catalog.ts';
import type { Plan } from '../core/plan.ts';
import { credentialOf } from '../../test/support/credential-of.ts';
import { modelOf, routeOf, targetOf } from '../../test/support/route-of.ts';
import { uncounted } from '../../test/support/uncounted.ts';
import { planWithBlocks } from './plan-request.ts';
import { prepareHere } from './prepare.ts';

const planOf = (route: Route): Plan => ({
  model: modelOf([route]),
  routes: [{ route, target: targetOf(route.backend.name) }],
});

/** The plan of a prompt of 3,000 characters, over a route with so many endpoints. */
async function planned(options: { endpoints: number; route?: Route; workspaceId?: string; secret?: string }) {
  const { endpoints, route = routeOf('a'), secret = 'secret' } = options;
  const messages = [{ role: 'user', content: 'word '.repeat(600) }];
  const body = new TextEncoder().encode(JSON.stringify({ model: 'demo/tiny', messages }));
  const prepared = prepareHere(body, { surface: 'chat', countPrompt: uncounted });
  const { workspace, ...credential } = credentialOf();
  const request = {
    credential: { ...credential, workspace: { ...workspace, id: options.workspaceId ?? workspace.id } },
    watch: { progress: () => undefined, attempt: () => expect.fail() },
  };
  const health = { endpointsLeft: () => endpoints };
  return planWithBlocks(planOf(route), { request, prepared }, { sharedSecret: () => secret, health });
}

describe('the blocks of a prompt', () => {
  it('are part of the plan where there are endpoints to pick from', async () => {
    const { poolPrompt } = await planned({ endpoints: 2 });
    expect(poolPrompt?.digests).toHaveLength(5);
    expect(poolPrompt?.ends.at(-1)).toBeLessThan(poolPrompt?.tokens ?? 0);
  });

  it('are not made where there is one endpoint, or a provider that has its own', async () => {
    const plain = routeOf('a');
    const provider = { ...plain, backend: { ...plain.backend, engine: 'fireworks' as const } };
    expect((await planned({ endpoints: 1 })).poolPrompt).toBeUndefined();
    expect((await planned({ endpoints: 3, route: provider })).poolPrompt).toBeUndefined();
  });

  it('are the same for the same workspace and secret, and for no others', async () => {
    const digests = async (of: { workspaceId?: string; secret?: string } = {}) =>
      (await planned({ endpoints: 2, ...of })).poolPrompt?.digests;
    expect(await digests()).toEqual(await digests());
    expect(await digests({ workspaceId: 'another' })).not.toEqual(await digests());
    expect(await digests({ secret: 'another' })).not.toEqual(await digests());
  });
});
