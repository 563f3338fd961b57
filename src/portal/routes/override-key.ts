import { z } from 'zod';
import { errors } from '../answers.ts';
import * as api from '../api/keys.ts';
import { callerOf } from '../authenticate.ts';
import { authorship } from '../callers.ts';
import { servicesOf } from '../catalog-view.ts';
import type { Portal } from '../portal.ts';
import type { App } from '../app.ts';

const params = z.object({ id: z.string().meta({ description: 'Id of the key.' }) });

/** The status of a key in an emergency. */
export function overrideKeyRoutes(app: App, { overrides, clock }: Portal): void {
  app.post(
    '/api/v1/keys/:id/override',
    {
      schema: {
        tags: ['keys'],
        summary:
          'Set the status of any key in an emergency, also of one that an object declares, and while the database is down',
        params,
        body: api.keyOverride,
        response: { 200: api.overriddenKey, ...errors },
      },
    },
    async (request) => {
      const { id } = request.params;
      const { status } = request.body;
      const by = authorship(callerOf(request), clock.now());
      const { isStored, services } = await overrides.override({ keyId: id, status, by });
      return { id, status, stored: isStored, services: servicesOf(services) };
    },
  );
}
