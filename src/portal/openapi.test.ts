import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { samplePortal } from '../../test/support/sample-portal.ts';
import { accessTable } from './access.ts';

it('describes every route of the API, validly, with its errors and without what it does not use', async () => {
  const { server } = await samplePortal();
  const document = (await server.inject('/api/openapi.json')).json<{
    openapi: string;
    paths: Record<string, Record<string, { responses: object }>>;
    components: { schemas: Record<string, unknown> };
  }>();
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  expect(document.openapi).toBe('3.1.0');
  const described = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
  );
  // Browsers alone go to the addresses of an identity provider's sign-in, and by redirects.
  const routes = Object.keys(accessTable).filter((route) => !/^GET \/api\/(openapi\.json|v1\/oidc\/)/.test(route));
  expect(described.toSorted()).toEqual(routes.toSorted());
  for (const methods of Object.values(document.paths)) {
    for (const { responses } of Object.values(methods)) {
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(['400', '401', '403', '404']));
    }
  }
  const names = Object.keys(document.components.schemas);
  expect(names).toEqual(
    expect.arrayContaining([
      'Key',
      'Workspace',
      'UsageReport',
      'RequestPage',
      'RequestStory',
      'Attempt',
      'RequestBill',
      'HealthEvent',
      'Error',
    ]),
  );
  for (const name of names) expect(JSON.stringify(document)).toContain(`"#/components/schemas/${name}"`);
  expect(names).not.toContain('LiveCatalog');
});

it('is refused by the validator when it is wrong', async () => {
  const { server } = await samplePortal();
  const document = (await server.inject('/api/openapi.json')).json<{ paths: Record<string, unknown> }>();
  document.paths['/api/v1/session'] = { get: { responses: 5 } };
  expect((await new Validator().validate(document)).valid).toBe(false);
});
