import { z } from 'zod';

/** Measured figures as lines over a common axis: `docs/pictures/NAME.lines.json`. `npm run generate` draws them. */
export const linePictureSchema = z.strictObject({
  title: z.string(),
  /** The names of the axes, with their units. */
  x: z.string(),
  y: z.string(),
  /** Greater values are cut off. */
  most: z.number().optional(),
  /** Each has a point at least, x and y. */
  lines: z
    .array(z.strictObject({ name: z.string(), points: z.array(z.tuple([z.number(), z.number()])).min(1) }))
    .min(1),
});

export type LinePicture = z.infer<typeof linePictureSchema>;
