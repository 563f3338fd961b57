/** What a Backend's requests carry: credentials in any header, further headers, a query, another host, defaults. */
import { expect, test } from 'vitest';
import { startProgrammableEngine } from '../programmable-engine/engine.ts';
import { modelManifest, startWeir } from '../support/weir.ts';
import { forFile } from '../support/for-file.ts';

const manifest = (port: number): string => `
apiVersion: v1
kind: Secret
metadata: {name: azure}
stringData: {token: sk-of-azure, pair: "user:word"}
---
apiVersion: weir.dev/v1alpha1
kind: Backend
metadata: {name: azure}
spec:
  engine: vllm
  endpoint: {host: 127.0.0.1, port: ${port}, path: /v1}
  host: acme.openai.azure.com
  credentials: {header: api-key, secretRef: {name: azure, key: token}}
  headers:
  - {name: x-org, value: team a}
  - {name: authorization, secretRef: {name: azure, key: pair}}
  query:
  - {name: api-version, value: "2024-10-21"}
  requests:
    defaults: {temperature: 0.25, max_tokens: 77}
    bounds: {max_tokens: 500}
---
`;

const engine = await forFile(startProgrammableEngine({ name: 'alpha', behaviour: { reasoning: 'never', words: 3 } }));
const manifests = { 'catalog.yaml': manifest(engine.port) + modelManifest('test/model', ['azure']) };
const weir = await forFile(startWeir({ engines: [engine], manifests, unlimited: true, secrets: ['sk-of-azure'] }));

test.each([false, true])('the engine receives what the Backend says (stream: %s)', async (stream) => {
  engine.reset();
  const messages = [{ role: 'user', content: 'hi' }];
  expect((await weir.chat({ model: 'test/model', messages, stream })).status).toBe(200);
  expect((await weir.chat({ model: 'test/model', messages, stream, temperature: 0, max_tokens: 5000 })).status).toBe(
    200,
  );
  const [first, second] = engine.requests();
  expect(first).toMatchObject({
    path: '/v1/chat/completions?api-version=2024-10-21',
    headers: { host: 'acme.openai.azure.com', 'api-key': 'sk-of-azure', 'x-org': 'team a', authorization: 'user:word' },
    body: { temperature: 0.25, max_tokens: 77 },
  });
  expect(second).toMatchObject({ body: { temperature: 0, max_tokens: 500 } });
});
