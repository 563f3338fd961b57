// Global set-up of the suites that need the image: a place for one of them for all files of the run. The first file that wants it makes it.
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { removeImage } from './image.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    imageFolder: string;
  }
}

export function setup(project: TestProject): () => void {
  // The suites of one run share this process.
  const folder = join(tmpdir(), `weir-image-${process.pid}`);
  project.provide('imageFolder', folder);
  return () => removeImage(folder);
}
