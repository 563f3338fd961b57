import { shownVectorReference } from '../../books/core/shown.ts';
import * as api from '../api/vectors.ts';
import { type App, describing } from '../app.ts';
import { callerOf } from '../authenticate.ts';
import { authorship } from '../callers.ts';
import type { Portal } from '../portal.ts';

const described = describing('catalog');

/** The reference vectors of embedding models. */
export function vectorRoutes(app: App, { store, clock }: Portal): void {
  app.get(
    '/api/v1/models/vectors',
    described('The reference vectors of embedding models', { 200: api.vectorReferences }, {}),
    async () => ({ data: (await store.listVectorReferences()).map(shownVectorReference), next_cursor: null }),
  );

  app.post(
    '/api/v1/models/accept-vectors',
    described(
      'Take the vectors that a route makes now as the reference of its model',
      { 200: api.vectorReference },
      { body: api.acceptedVectors },
    ),
    async (request) => {
      const { model, route } = request.body;
      const by = authorship(callerOf(request), clock.now());
      return shownVectorReference(await store.acceptVectors({ modelId: model.toLowerCase(), route }, by));
    },
  );
}
