import { z } from 'zod';

/** x and y. */
const pointSchema = z.tuple([z.number(), z.number()]).readonly();

/** Measured figures as lines over a common axis: `docs/pictures/NAME.lines.json`. `npm run generate` draws them. */
export const linePictureSchema = z.strictObject({
  title: z.string(),
  /** The names of the axes, with their units. */
  x: z.string(),
  y: z.string(),
  /** Greater values are cut off. */
  most: z.number().optional(),
  lines: z.array(z.strictObject({ name: z.string(), points: z.array(pointSchema).readonly() })).readonly(),
});

export type LinePicture = z.infer<typeof linePictureSchema>;
export type LinePoint = z.infer<typeof pointSchema>;
