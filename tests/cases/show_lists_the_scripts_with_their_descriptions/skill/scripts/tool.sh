#!/bin/bash
# Makes a thing.
