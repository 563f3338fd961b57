import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Length of the vectors of the bench's engine of embeddings. */
export const dimensions = 1024;

/** How an engine writes vectors: what it is called in the catalog, and the model of it. */
export const forms = { base64: 'vllm', numbers: 'sglang' } as const;
export type Form = keyof typeof forms;

export const vectorModel = (form: Form): string => `bench/vectors-${form}`;

/** Writes a manifest folder with a Backend and a Model of embeddings for each form, all on one engine. */
export async function writeVectorManifests(folder: string, port: number): Promise<void> {
  await mkdir(folder, { recursive: true });
  const base = { apiVersion: 'weir.dev/v1alpha1' };
  for (const form of ['base64', 'numbers'] as const) {
    const metadata = { name: `vectors-${form}` };
    const spec = { engine: forms[form], endpoint: { host: '127.0.0.1', port, path: '/v1' } };
    await writeFile(join(folder, `${form}-backend.yaml`), JSON.stringify({ ...base, kind: 'Backend', metadata, spec }));
    const model = {
      ...{ id: vectorModel(form), kind: 'Embedding', ownedBy: 'bench', added: '2026-01-01T00:00:00Z' },
      ...{ contextLength: 8192, embedding: { dimensions }, pricing: { prompt: '0.00000001' } },
      routes: [{ backend: metadata.name, upstreamModel: 'bench-engine' }],
    };
    await writeFile(
      join(folder, `${form}-model.yaml`),
      JSON.stringify({ ...base, kind: 'Model', metadata, spec: model }),
    );
  }
}
