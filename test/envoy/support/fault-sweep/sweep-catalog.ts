import type { EngineName } from '../../../../src/core/engine-name.ts';
import { demoBackend, demoBackendOf, demoModel, demoRoute, manifestOf } from '../catalog-manifest.ts';
import type { SweepShape } from './sweep-shapes.ts';

/**
 * `able`: it can do whatever is needed. `discontinuous`: it cannot continue an answer. `endpoint`: it is no route, but another
 * endpoint of the first one's backend. `none`: there is none.
 */
export type SecondRoute = 'able' | 'discontinuous' | 'endpoint' | 'none';

export interface SweepCatalogOptions {
  readonly shapes: readonly SweepShape[];
  readonly second: SecondRoute;
  /** Of the engine that breaks and the one that does not. */
  readonly engines: readonly [first: { readonly port: number }, second: { readonly port: number }];
}

/** The models of a sweep, which are many: each has a route to both engines. */
export interface SweepCatalog {
  /** Names new models, so that each shape can be broken so many times, and gives the manifest. */
  readonly renewed: (faults: ReadonlyMap<SweepShape, number>) => string;
  /** The model that is never broken. */
  readonly soundModel: (shape: SweepShape) => string;
  /** A model that may be broken once more. Throws when there is none left. */
  readonly takeModel: (shape: SweepShape) => string;
}

/**
 * A route that fails is left for another, as it should be, and that is not what the sweep is about: so each gets a few faults
 * only. Five in a row, or six with more failures than successes, open a circuit.
 */
const faultsPerRoute = 4;
/** Where another endpoint can do the work, three in a row open it. */
const faultsPerEndpoint = 2;

/** The heaviest weight there is: the first route stays the first one while it is in. */
const heaviest = 1_000_000;

/** What the engines call the model of a shape. */
export const upstreamModel = (shape: SweepShape): string => `demo-chat-${shape.name}`;

const kindOf = ({ kind = 'vllm' }: SweepShape): EngineName => kind;

export function createSweepCatalog({ shapes, second, engines }: SweepCatalogOptions): SweepCatalog {
  const kinds = [...new Set(shapes.map(kindOf))];
  const faultsPerModel = second === 'endpoint' ? faultsPerEndpoint : faultsPerRoute;
  const models = new Map<SweepShape, readonly string[]>();
  const taken = new Map<SweepShape, number>();
  let generation = 0;

  function routesOf(shape: SweepShape): readonly Readonly<Record<string, unknown>>[] {
    const { capabilities = {} } = shape;
    const continuing = second === 'discontinuous' ? { ...capabilities, continuation: false } : capabilities;
    const both = [
      demoRoute(`${kindOf(shape)}-first`, capabilities, heaviest),
      ...(second === 'none' || second === 'endpoint' ? [] : [demoRoute(`${kindOf(shape)}-second`, continuing, 1)]),
    ];
    return both.map((route) => ({ ...route, upstreamModel: upstreamModel(shape) }));
  }

  return {
    renewed: (faults) => {
      generation += 1;
      taken.clear();
      for (const shape of shapes) {
        const count = 1 + Math.ceil((faults.get(shape) ?? 0) / faultsPerModel);
        models.set(
          shape,
          Array.from({ length: count }, (_, at) => `${shape.name}-${generation}-${at}`),
        );
      }
      return manifestOf(
        ...kinds.flatMap((kind) =>
          second === 'endpoint'
            ? [demoBackendOf(`${kind}-first`, engines, kind)]
            : [demoBackend(`${kind}-first`, engines[0], kind), demoBackend(`${kind}-second`, engines[1], kind)],
        ),
        ...shapes.flatMap((shape) => {
          const spec = shape.tokenizer === true ? { tokenizer: { path: 'demo' } } : {};
          return (models.get(shape) ?? []).map((name) => demoModel(name, routesOf(shape), spec));
        }),
      );
    },
    soundModel: (shape) => `test/${models.get(shape)?.[0] ?? ''}`,
    takeModel: (shape) => {
      const count = taken.get(shape) ?? 0;
      taken.set(shape, count + 1);
      const broken = models.get(shape)?.slice(1) ?? [];
      const name = broken[count % broken.length];
      if (name === undefined || count >= broken.length * faultsPerModel) {
        throw new Error(`all models of ${shape.name} have been broken enough`);
      }
      return `test/${name}`;
    },
  };
}
