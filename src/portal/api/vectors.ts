import { z } from 'zod';
import { modelId, moment, pageOf } from './values.ts';

/** A `VectorReferenceHead`. */
export const vectorReference = z
  .object({
    model: modelId,
    route: z.string().meta({ description: 'The route whose vectors are the reference.', example: 'baai/bge-m3@tei-a' }),
    upstream_model: z.string().nullable().meta({ description: 'Its name for the model then; null while awaited.' }),
    dimensions: z.int().min(1).nullable().meta({ description: 'Length of a vector; null while awaited.' }),
    since: moment,
    awaited: z
      .boolean()
      .meta({ description: 'Accepted by an operator, and no service has had the vectors from the route yet.' }),
  })
  .meta({ id: 'VectorReference', description: 'The vectors that all routes of an embedding model must make.' });

/** `GET /models/vectors`. */
export const vectorReferences = pageOf(vectorReference, { id: 'VectorReferenceList', of: 'references' });

/** `POST /models/accept-vectors`. The id is in the body, because it has slashes. */
export const acceptedVectors = z
  .strictObject({
    model: modelId,
    route: z.string().optional().meta({ description: 'Default: the reference route.' }),
  })
  .meta({ id: 'AcceptedVectors', description: 'The route whose vectors are the new reference.' });
