import type { DatabaseLocation } from '../../../../src/books/databases/database.ts';
import { openAccounts } from '../../../../src/books/store/open-accounts.ts';
import type { PlayedEngine } from '../../../play/played-engine.ts';
import { backendManifest, modelManifest } from '../../../support/weir.ts';

/** Models beside those of the plans that are played. */
export const attackedModels = {
  /** Asked by a probe alone. */
  probed: 'attacked/probed',
  /** Asked by attackers: of engines that everybody shares, and of one that means harm. */
  shared: 'attacked/shared',
  hostile: 'attacked/hostile',
} as const;

/** Each has backends of its own, so that what is broken on one is not held against the routes of another. */
export function attackedManifests(engines: readonly PlayedEngine[], hostilePort: number): string {
  const models = [attackedModels.probed, attackedModels.shared].map((id) => {
    const names = engines.map(({ name }) => `backend-of-test-${id.replace('/', '-')}-${name}`);
    const backends = engines.map((engine, index) => backendManifest(names[index] ?? '', engine)).join('');
    return backends + modelManifest(id, names, '', 1);
  });
  return [
    '---\n',
    ...models,
    backendManifest('hostile', { port: hostilePort }),
    // Free: an engine that lies about its usage would soon use up what the attackers spend.
    modelManifest(attackedModels.hostile, ['hostile']).replace(
      /pricing: .*/,
      'pricing: {prompt: "0", completion: "0"}',
    ),
  ].join('');
}

/** Keys of workspaces of their own, made beside the running services. An attacker may be a customer. */
export async function keysBeside(
  location: DatabaseLocation,
  names: readonly string[],
  perSecond: number,
): Promise<readonly string[]> {
  const accounts = await openAccounts(location, { missing: 'refuse', user: 'operator' });
  try {
    const by = { actor: { kind: 'command-line', name: 'operator' }, now: Date.now() } as const;
    const keys: string[] = [];
    for (const name of names) {
      await accounts.createWorkspace({ name, credit: 10n ** 18n, maxInFlight: 256 }, by);
      keys.push((await accounts.createKey({ workspace: name, rate: perSecond, burst: 2 * perSecond }, by)).text);
    }
    return keys;
  } finally {
    await accounts.close();
  }
}
