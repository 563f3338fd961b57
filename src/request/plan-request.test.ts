import { describe, expect, it } from 'vitest';
import type { Model, Route } from '../core/catalog.ts';
import type { EngineName } from '../core/engine-name.ts';
import { credentialOf } from '../../test/support/credential-of.ts';
import { modelOf, routeOf, targetOf } from '../../test/support/route-of.ts';
import { planForCaches } from './plan-request.ts';

const on = (engine: EngineName): Route => {
  const plain = routeOf('a');
  return { ...plain, backend: { ...plain.backend, engine } };
};

interface SaltOptions {
  readonly route?: Route;
  readonly workspaceId?: string;
  readonly secret?: string;
  readonly cacheSharing?: Model['cacheSharing'];
}

function saltOf({ route = routeOf('a'), workspaceId = 'one', secret = 'secret', ...fields }: SaltOptions) {
  const { workspace, ...credential } = credentialOf();
  const plan = { model: modelOf([route], fields), routes: [{ route, target: targetOf('a') }] } as const;
  const request = { credential: { ...credential, workspace: { ...workspace, id: workspaceId } } };
  return planForCaches(plan, request, { sharedSecret: () => secret }).routes[0].target.cacheSalt;
}

describe('the salt of an engine’s prefix cache', () => {
  it('is the same for a workspace, and another one for each other workspace and secret', () => {
    expect(saltOf({})).toMatch(/^[0-9a-f]{16}$/);
    expect(saltOf({})).toBe(saltOf({}));
    expect(saltOf({ workspaceId: 'two' })).not.toBe(saltOf({}));
    expect(saltOf({ secret: 'another' })).not.toBe(saltOf({}));
  });

  it('is sent to engines that know it, and not where all workspaces share the cache', () => {
    expect(saltOf({ route: on('sglang') })).toBeDefined();
    for (const engine of ['llamacpp', 'ollama', 'tgi', 'openai', 'deepseek'] as const)
      expect(saltOf({ route: on(engine) })).toBeUndefined();
    expect(saltOf({ cacheSharing: 'All' })).toBeUndefined();
  });
});
