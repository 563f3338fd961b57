import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { chartTypes } from './support/chart-types.ts';
import { kubeRequest } from './support/request.ts';

const connection = inject('kubernetes');
const pins = readFileSync(join(import.meta.dirname, 'tools', 'pins', 'apiserver', 'go.mod'), 'utf8');

// With another pin: `npx vitest run test/kube/chart-types.test.ts --update`, and `npm run generate`.
test('the types of Kubernetes in the schema of the chart are those of the pinned API server', async ({ skip }) => {
  const [version, openApi] = await Promise.all(
    ['/version', '/openapi/v2'].map(async (path) => (await kubeRequest(connection, 'GET', path)).body),
  );
  const { gitVersion } = version as { readonly gitVersion: string };
  skip(!pins.includes(`k8s.io/kubernetes ${gitVersion}\n`), `the API server here is ${gitVersion}`);
  const { definitions } = openApi as { readonly definitions: Parameters<typeof chartTypes>[0] };
  const text = `${JSON.stringify(chartTypes(definitions), undefined, 2)}\n`;
  await expect(text).toMatchFileSnapshot(join('..', '..', 'scripts', 'kubernetes-types.json'));
});
