import { stringify } from 'yaml';
import type { CatalogObject } from '../../../src/core/catalog.ts';
import { backend, model } from '../../support/catalog-objects.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A manifest file of these objects. */
export const manifestOf = (...objects: readonly CatalogObject[]): string =>
  objects.map(({ value }) => stringify(value)).join('---\n');

/** What a Backend or a Model is called; `close` of a gateway sees to it that no answer ever says so. */
const backendName = (name: string): string => `backend-of-test-${name}`;

/** A Backend of that engine kind, served by a programmable engine. */
export const demoBackend = (name: string, engine: { readonly port: number }, kind: string): CatalogObject =>
  backend(backendName(name), { engine: kind, endpoint: { host: '127.0.0.1', port: engine.port, path: '/v1' } });

/** A route to a programmable engine's model, by the name of its backend. */
export const demoRoute = (name: string, capabilities: Fields = {}, weight = 100): Fields => ({
  ...{ backend: backendName(name), upstreamModel: 'demo-chat', weight, capabilities },
});

/** A reasoning Model over these routes, with the id `test/<name>`. */
export const demoModel = (name: string, routes: readonly Fields[], spec: Fields = {}): CatalogObject =>
  model(`test-${name}`, {
    ...{ id: `test/${name}`, ownedBy: 'test', routes },
    reasoning: { mode: 'Optional', efforts: ['low', 'medium', 'high', 'max'] },
    ...spec,
  });
