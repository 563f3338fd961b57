import type { EngineName } from '../../../../src/core/engine-name.ts';
import { demoBackend, demoModel, demoRoute, manifestOf } from '../catalog-manifest.ts';
import type { SweepShape } from './sweep-shapes.ts';

export interface SweepCatalogOptions {
  readonly shapes: readonly SweepShape[];
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

/** The heaviest weight there is: the first route stays the first one while it is in. */
const heaviest = 1_000_000;

/** What the engines call the model of a shape. */
export const upstreamModel = (shape: SweepShape): string => `demo-chat-${shape.name}`;

const kindOf = ({ kind = 'vllm' }: SweepShape): EngineName => kind;

export function createSweepCatalog({ shapes, engines }: SweepCatalogOptions): SweepCatalog {
  const kinds = [...new Set(shapes.map(kindOf))];
  const models = new Map<SweepShape, readonly string[]>();
  const taken = new Map<SweepShape, number>();
  let generation = 0;

  function routesOf(shape: SweepShape): readonly Readonly<Record<string, unknown>>[] {
    const { capabilities = {} } = shape;
    const both = [
      demoRoute(`${kindOf(shape)}-first`, capabilities, heaviest),
      demoRoute(`${kindOf(shape)}-second`, capabilities, 1),
    ];
    return both.map((route) => ({ ...route, upstreamModel: upstreamModel(shape) }));
  }

  return {
    renewed: (faults) => {
      generation += 1;
      taken.clear();
      for (const shape of shapes) {
        const count = 1 + Math.ceil((faults.get(shape) ?? 0) / faultsPerRoute);
        models.set(
          shape,
          Array.from({ length: count }, (_, at) => `${shape.name}-${generation}-${at}`),
        );
      }
      return manifestOf(
        ...kinds.flatMap((kind) => [
          demoBackend(`${kind}-first`, engines[0], kind),
          demoBackend(`${kind}-second`, engines[1], kind),
        ]),
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
      if (name === undefined || count >= broken.length * faultsPerRoute) {
        throw new Error(`all models of ${shape.name} have been broken enough`);
      }
      return `test/${name}`;
    },
  };
}
