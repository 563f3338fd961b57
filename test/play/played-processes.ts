import { enginesOf, windows } from '../simulation/catalog.ts';
import type { Surroundings } from './disasters.ts';
import { startGateways } from './gateways.ts';
import { playedManifests, upstreamModel } from './played-catalog.ts';
import { startPlayedEngine } from './played-engine.ts';
import { startPlayedIssuer } from './played-issuer.ts';
import { startPlayedSearch } from './played-search.ts';

/** The engines of the simulation's catalog, its provider of web search, an issuer of tokens, and so many gateways. */
export interface PlayedProcesses extends Pick<Surroundings, 'gateways' | 'engines' | 'search' | 'issuer'> {
  readonly close: () => Promise<void>;
}

/** `env`: of the services. */
export async function startPlayedProcesses(
  services: number,
  env: Readonly<Record<string, string>> = {},
): Promise<PlayedProcesses> {
  const engines = await Promise.all(enginesOf.map(({ name }) => startPlayedEngine(name, upstreamModel)));
  const search = await startPlayedSearch();
  const issuer = await startPlayedIssuer();
  const manifests = playedManifests(engines, ['a', 'b'], { factor: 1, window: windows.usual });
  const gateways = await startGateways(services, { manifests, searchUrl: search.url, env: { ...issuer.env, ...env } });
  return {
    ...{ engines, search, issuer, gateways },
    close: async () => {
      await gateways.close();
      await Promise.all([...engines, search, issuer].map((each) => each.close()));
    },
  };
}
