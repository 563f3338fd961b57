// Global set-up of the suites with a Kubernetes API server: one of them, with the generated CRDs, in which every test
// makes a namespace of its own. A test that stops or fills its server starts another with startKubeApiServer.
import type { TestProject } from 'vitest/node';
import { type KubeConnection, startKubeApiServer } from './api-server.ts';
import { installCrds } from './cluster.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    kubernetes: KubeConnection;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { close, url, token, caFile, kubeconfig } = await startKubeApiServer();
  const connection = { url, token, caFile, kubeconfig };
  try {
    await installCrds(connection);
  } catch (error) {
    await close();
    throw error;
  }
  project.provide('kubernetes', connection);
  return close;
}
