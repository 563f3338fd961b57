import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { shapeName, shapePath, type AnswerShape } from './answers.ts';

/** The catalog's id of the model whose engine answers in this shape. */
export function modelId(shape: AnswerShape): string {
  return `bench/${shapeName(shape)}`;
}

/** … and of the one whose tokens the service counts. */
export const exactModelId = (shape: AnswerShape): string => `${modelId(shape)}${exactEnding}`;

const exactEnding = '-exact';
/** The folder of tokenizers of an exact model, and its tokenizer: that of our tests. */
export const tokenizersFolder = join(import.meta.dirname, '..', 'test', 'golden', 'tokens');
const tokenizer = { path: 'chatml' };

/**
 * Writes a manifest folder with one backend and one priced model per shape (docs/reference/custom-resources.md). The backends are one
 * engine's process under different paths. The objects are JSON, which is YAML too.
 */
export async function writeManifests(
  folder: string,
  enginePort: number,
  shapes: readonly AnswerShape[],
): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const shape of shapes) {
    const name = `bench-${shapeName(shape)}`;
    await writeFile(
      join(folder, `${name}-backend.yaml`),
      JSON.stringify(backend(name, enginePort, shape), undefined, 2),
    );
    await writeModel(folder, shape);
  }
}

/** Writes one more Model for a shape: the service counts its tokens. */
export async function writeExactModel(folder: string, shape: AnswerShape): Promise<void> {
  const name = `bench-${shapeName(shape)}`;
  const { spec, ...rest } = model(name, shape, 'bench');
  const exact = {
    ...rest,
    metadata: { name: `${name}${exactEnding}` },
    spec: { ...spec, id: exactModelId(shape), tokenizer },
  };
  await writeFile(join(folder, `${name}${exactEnding}-model.yaml`), JSON.stringify(exact, undefined, 2));
}

/** Writes the Model of a shape. A new owner is a change of the catalog without an effect on requests. */
export async function writeModel(folder: string, shape: AnswerShape, ownedBy = 'bench'): Promise<void> {
  const name = `bench-${shapeName(shape)}`;
  await writeFile(join(folder, `${name}-model.yaml`), JSON.stringify(model(name, shape, ownedBy), undefined, 2));
}

function backend(name: string, enginePort: number, shape: AnswerShape): object {
  return {
    apiVersion: 'weir.dev/v1alpha1',
    kind: 'Backend',
    metadata: { name },
    spec: {
      engine: 'vllm',
      endpoint: { host: '127.0.0.1', port: enginePort, path: shapePath(shape) },
    },
  };
}

function model(name: string, shape: AnswerShape, ownedBy: string) {
  return {
    apiVersion: 'weir.dev/v1alpha1',
    kind: 'Model',
    metadata: { name },
    spec: {
      id: modelId(shape),
      ownedBy,
      added: '2026-01-01T00:00:00Z',
      contextLength: 1_048_576,
      inputModalities: ['text'],
      pricing: { prompt: '0.00000015', completion: '0.0000006', inputCacheRead: '0.00000003' },
      reasoning: shape.reasoningChunks > 0 ? { mode: 'Always', efforts: ['max'] } : { mode: 'None', efforts: [] },
      hedging: { mode: 'Auto' },
      routes: [{ backend: name, upstreamModel: 'bench-engine', weight: 100 }],
    },
  };
}
