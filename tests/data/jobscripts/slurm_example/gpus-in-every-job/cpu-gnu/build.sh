#SBATCH --job-name="rfm_build_build_linkmatrix_HASH"
#SBATCH --ntasks=1
#SBATCH --output=rfm_build.out
#SBATCH --error=rfm_build.err
#SBATCH --time=0:30:0
#SBATCH --nodes=1
#SBATCH --partition=cpu
#SBATCH --no-requeue
