import { z } from 'zod';
import * as api from '../api/keys.ts';
import { callerOf } from '../authenticate.ts';
import { authorship } from '../callers.ts';
import { servicesOf } from '../catalog-view.ts';
import type { Portal } from '../portal.ts';
import { type App, describing } from '../app.ts';

const described = describing('keys');

const params = z.object({ id: z.string().meta({ description: 'Id of the key.' }) });

/** The status of a key in an emergency. */
export function overrideKeyRoutes(app: App, { overrides, clock }: Portal): void {
  app.post(
    '/api/v1/keys/:id/override',
    described(
      'Set the status of any key in an emergency, even of a key that an object declares, and even while the database is down',
      { 200: api.overriddenKey },
      { params, body: api.keyOverride },
    ),
    async (request) => {
      const { id } = request.params;
      const { status } = request.body;
      const by = authorship(callerOf(request), clock.now());
      const { isStored, services } = await overrides.override({ keyId: id, status, by });
      return { id, status, stored: isStored, services: servicesOf(services) };
    },
  );
}
