import { type ProgrammableEngine, startProgrammableEngine } from '../../programmable-engine/engine.ts';
import type { CatalogObject } from '../../../src/core/catalog.ts';
import type { EngineName } from '../../../src/core/engine-name.ts';
import { demoBackend, demoModel, demoRoute, manifestOf } from './catalog-manifest.ts';
import { roomyKey } from '../../support/roomy-key.ts';
import { startWeir } from '../../support/weir.ts';

/** One engine under several names: what each kind of engine is sent, and what a caller gets of its answer. */
export interface ContractGateway {
  readonly engine: ProgrammableEngine;
  /** Asks for a chat completion, with a key that no limit stops. */
  readonly send: (body: object | string) => Promise<Response>;
  readonly close: () => Promise<void>;
}

export interface ContractGatewayOptions {
  /** Each is a backend, and a model `test/<kind>` over it. */
  readonly kinds: readonly EngineName[];
  /** Further models over these backends. */
  readonly models: readonly CatalogObject[];
}

export async function startContractGateway({ kinds, models }: ContractGatewayOptions): Promise<ContractGateway> {
  const engine = await startProgrammableEngine({ name: 'alpha', behaviour: { words: 6, reasoningWords: 4 } });
  const catalog = manifestOf(
    ...kinds.map((kind) => demoBackend(kind, engine, kind)),
    ...kinds.map((kind) => demoModel(kind, [demoRoute(kind)])),
    ...models,
  );
  const weir = await startWeir({ engines: [engine], manifests: { 'catalog.yaml': catalog } });
  const authorization = `Bearer ${await roomyKey(weir)}`;
  return {
    engine,
    send: (body) => weir.chat(body, { authorization }),
    close: async () => {
      await weir.close();
      await engine.close();
    },
  };
}
